// Tests conclusions about a job that a daemon draws from the answers of other daemons, over real
// connections.
#include "actors/caf_error.hpp"
#include "actors/node/asking.hpp"
#include "actors/node/previous_members.hpp"
#include "core/net/socket.hpp"
#include "tests/actors/small_job.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Returns a port that is released at once.
Endpoint free_endpoint() {
  return {"127.0.0.1", net::listen_on({"127.0.0.1", 0}).value().port};
}

/// A daemon that answers as the test says.
struct Neighbour {
  /// `leader`: leader of the job that the daemon takes part in; empty: it takes part in none.
  explicit Neighbour(std::string leader, std::string begins = {}, bool has_ended = false,
                     std::int64_t last_generation = 0, bool trained = true)
      : membership{test::spawn_stub<membership_actor>(system)},
        node{test::spawn_stub<node_actor>(
            system,
            [this, leader](atom::join) -> caf::result<membership_actor, std::string> {
              if (leader.empty())
                return to_caf_error({Errc::network, "it is still looking for a job itself"});
              return {membership, leader == "itself" ? to_string(at) : leader};
            },
            [=, this](atom::begin, const std::string&)
                -> caf::result<training::Voter, std::string, bool, training::GenerationRecord> {
              using Nodes = std::vector<training::MemberInfo>;
              const training::Voter self{to_string(at), "its process"};
              return {self, begins, has_ended,
                      training::GenerationRecord{
                          .number = last_generation,
                          .nodes = trained ? Nodes{{.address = to_string(at)}} : Nodes{},
                          .voters = {self}}};
            })} {
    REQUIRE(publish(node, at, network));
  }
  ~Neighbour() {
    caf::anon_send_exit(node, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(membership, caf::exit_reason::user_shutdown);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  std::string address() const { return to_string(at); }

  Endpoint at = free_endpoint();
  NetworkOptions network{"1.2.3"};
  SystemConfig settings{network};
  caf::actor_system system{settings};
  membership_actor membership;
  node_actor node;
};

/// The daemon that asks. It is asked to stop at its second pause.
struct Requester {
  Requester() { config.run.output = folder.path().string(); }
  JoinContext context() {
    return {.system = system,
            .config = config,
            .network = network,
            .node = {},
            .consensus = {},
            .info = {.address = own, .process = "own process"},
            .data_plane = {},
            .say = [this](const std::string& text) { said.push_back(text); },
            .stopped_within = [this](std::chrono::milliseconds) { return ++pauses > 1; },
            .prepare = [](std::int64_t) { return Status{}; }};
  }
  Result<std::optional<JobHandle>> find_running_job() {
    return actors::find_running_job(context(), {});
  }

  testing::ScratchFolder folder;
  std::string own = to_string(free_endpoint());
  Config config = [] {
    auto job = test::small_job();
    job.cluster.timeouts.detection = 500ms;
    return job;
  }();
  NetworkOptions network{"1.2.3"};
  SystemConfig settings{network};
  caf::actor_system system{settings};
  std::vector<std::string> said;
  int pauses = 0;
};

} // namespace

TEST_CASE("asking a leader returns its address and its MEMBERSHIP") {
  const Neighbour leader{"itself"};
  Requester requester;
  const auto found = ask_for_job(requester.context(), leader.address());
  REQUIRE(found);
  CHECK(found->leader == leader.address());
  CHECK(found->membership);
}

TEST_CASE("a peer that takes the asking node for the leader has no job to join") {
  Requester requester;
  const Neighbour neighbour{requester.own, requester.own};
  const auto found = ask_for_job(requester.context(), neighbour.address());
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::network);
  CHECK_THAT(found.error().message, ContainsSubstring("reports that this node leads its job"));
  const auto answer = ask_about_job(requester.context(), neighbour.address());
  REQUIRE(answer);
  CHECK_FALSE(answer->is_busy);
  CHECK(answer->begins == requester.own);
}

TEST_CASE("a node begins no job while a peer trains and the peer's leader does not answer") {
  Requester requester;
  const Neighbour neighbour{to_string(free_endpoint())};
  requester.config.cluster.join = {requester.own, neighbour.address()};
  const auto found = requester.find_running_job();
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::stopped);
  REQUIRE(requester.said.size() == 1);
  CHECK_THAT(requester.said.front(),
             ContainsSubstring(neighbour.address() + " takes part in a job") &&
                 ContainsSubstring("; trying again"));
}

TEST_CASE("a silent peer is a temporary error, a peer of another version is a permanent one") {
  Requester requester;
  const auto frozen = net::listen_on({"127.0.0.1", 0}).value();
  const auto silent = ask_for_job(requester.context(), "127.0.0.1:" + std::to_string(frozen.port));
  REQUIRE_FALSE(silent);
  CHECK(silent.error().code == Errc::network);
  CHECK(silent.error().exit_code() == 1);
  const Neighbour neighbour{"itself"};
  requester.network.version = "1.2.4";
  const auto other = ask_for_job(requester.context(), neighbour.address());
  REQUIRE_FALSE(other);
  CHECK(other.error().exit_code() == 2);
  CHECK_THAT(other.error().message, ContainsSubstring("is troupe 1.2.3"));
}

TEST_CASE("a name that does not resolve yet is a temporary error") {
  Requester requester;
  const auto found = ask_for_job(requester.context(), "host.invalid:7401");
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::network);
  CHECK(found.error().whose == Whose::between);
}

TEST_CASE("a node begins a job when a majority of cluster.join expects it to") {
  Requester requester;
  const auto nobody = to_string(free_endpoint());
  const Neighbour agrees{"", requester.own};
  requester.config.cluster.join = {requester.own, agrees.address(), nobody};
  auto found = requester.find_running_job();
  REQUIRE(found);
  CHECK_FALSE(*found);
  requester.config.cluster.join = {requester.own, nobody, to_string(free_endpoint())};
  found = requester.find_running_job();
  REQUIRE_FALSE(found);
  CHECK(found.error().message == "asked to stop while waiting to start a job: 1 of 3 nodes of "
                                 "cluster.join are present, too few to start a job");
  requester.config.cluster.join = {requester.own, nobody}; // two of three, including the first
  found = requester.find_running_job();
  REQUIRE(found);
  CHECK_FALSE(*found);
}

TEST_CASE("a node does not begin a job when a peer expects another node to begin it") {
  Requester requester;
  const Neighbour other{"", "other:1"};
  requester.config.cluster.join = {requester.own, other.address()};
  REQUIRE_FALSE(requester.find_running_job());
  REQUIRE(requester.said.size() == 1);
  CHECK_THAT(requester.said.front(), ContainsSubstring("expects other:1 to start the job"));
}

TEST_CASE("a node that lingers after its job does not keep others from beginning the next one") {
  Requester requester;
  const Neighbour lingers{requester.own, requester.own, true};
  requester.config.cluster.join = {requester.own, lingers.address()};
  const auto found = actors::find_running_job(
      requester.context(),
      {.generation = 1,
       .nodes = {},
       .voters = {{requester.own, "earlier"}, {lingers.address(), "another process"}}});
  REQUIRE(found);
  CHECK_FALSE(*found);
}

TEST_CASE(
    "a node that begins a job counts the voters of the newest generation that any peer knows") {
  const std::int64_t generation = GENERATE(4, 5, 6); // its own file names generation 5
  CAPTURE(generation);
  Requester requester;
  Neighbour other{"", requester.own, false, generation};
  requester.config.cluster.join = {requester.own, other.address()};
  const Members before{.generation = 5,
                       .nodes = {},
                       .voters = {{requester.own, "earlier"}, {other.address(), "earlier"}}};
  const auto found = actors::find_running_job(requester.context(), before);
  REQUIRE(found.has_value() == (generation < 6));
  if (!found)
    CHECK_THAT(requester.said.front(),
               ContainsSubstring("1 of 1 nodes that vote on members may still train this run"));
}

TEST_CASE("the only node that trained begins the job again although the other voters still run") {
  const bool other_trained = GENERATE(false, true), other_says_so = GENERATE(false, true);
  const std::int64_t known =
      GENERATE(0, 5); // last generation that the spare knows; 0: it knows of no job
  CAPTURE(other_trained, known);
  Requester requester;
  const Neighbour spare{"", requester.own, false, known, other_says_so},
      witness{"", requester.own, false, 5, false};
  requester.config.cluster.join = {requester.own, spare.address(), witness.address()};
  Members before{.generation = 5,
                 .nodes = {{requester.own, "earlier"}},
                 .voters = {{requester.own, "earlier"},
                            {spare.address(), "its process"},
                            {witness.address(), "its process"}}};
  if (other_trained)
    before.nodes.push_back(before.voters[1]);
  const auto found = actors::find_running_job(requester.context(), before);
  REQUIRE(found.has_value() == (!other_trained && !other_says_so && known == 5));
  if (!found)
    CHECK(requester.said.front() ==
          "2 of 3 nodes that vote on members may still train this run; trying again");
}
