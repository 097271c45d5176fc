// What a daemon concludes from the answers of others about a job, over real connections.
#include "actors/cluster/asking.hpp"
#include "actors/cluster/predecessors.hpp"
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

/// Free again at once.
Endpoint free_endpoint() {
  return {"127.0.0.1", net::listen_on({"127.0.0.1", 0}).value().port};
}

/// A daemon that answers as the test says.
struct Neighbour {
  /// Takes part in the job of this leader; none: in none.
  explicit Neighbour(std::string leader, std::string begins = {}, bool has_ended = false,
                     std::int64_t last_generation = 0, bool trained = true)
      : membership{test::spawn_stub<membership_actor>(system)},
        node{test::spawn_stub<node_actor>(
            system,
            [this, leader](atom::join) -> caf::result<membership_actor, std::string> {
              if (leader.empty())
                return carry({Errc::network, "it is itself still looking for a job"});
              return {membership, leader == "itself" ? to_string(at) : leader};
            },
            [begins, has_ended](atom::begin, const std::string&) -> caf::result<std::string, bool> {
              return {begins, has_ended};
            },
            [this](atom::vote) {
              return engine::Voter{to_string(at), "its process"};
            },
            [this, last_generation, trained](atom::decided) {
              using Nodes = std::vector<engine::NodePlace>;
              return engine::GenerationRecord{.number = last_generation,
                                              .nodes = trained ? Nodes{{.address = to_string(at)}}
                                                               : Nodes{},
                                              .voters = {{to_string(at), "its process"}}};
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
struct Asker {
  Asker() { config.run.output = folder.path().string(); }
  Applicant applicant() {
    return {.system = system,
            .config = config,
            .network = network,
            .node = {},
            .voter = {},
            .info = {.address = own, .process = "own process"},
            .data_plane = {},
            .say = [this](const std::string& text) { said.push_back(text); },
            .stopped_within = [this](std::chrono::milliseconds) { return ++pauses > 1; },
            .prepare = [](std::int64_t) { return Status{}; }};
  }
  Result<std::optional<JobPlace>> find_running_job() {
    return actors::find_running_job(applicant(), {});
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

TEST_CASE("a daemon that leads its job has one") {
  const Neighbour leader{"itself"};
  Asker asker;
  const auto found = ask_for_job(asker.applicant(), leader.address());
  REQUIRE(found);
  CHECK(found->leader == leader.address());
  CHECK(found->membership);
}

TEST_CASE("a leader that is the asker itself is no job") {
  Asker asker;
  const Neighbour neighbour{asker.own, asker.own};
  const auto found = ask_for_job(asker.applicant(), neighbour.address());
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::network);
  CHECK_THAT(found.error().message, ContainsSubstring("takes this node for the leader"));
  const auto answer = ask_about_job(asker.applicant(), neighbour.address());
  REQUIRE(answer);
  CHECK_FALSE(answer->is_busy);
  CHECK(answer->begins == asker.own);
}

TEST_CASE("a job whose leader cannot be asked keeps another from beginning") {
  Asker asker;
  const Neighbour neighbour{to_string(free_endpoint())};
  asker.config.cluster.join = {asker.own, neighbour.address()};
  const auto found = asker.find_running_job();
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::stopped);
  REQUIRE(asker.said.size() == 1);
  CHECK_THAT(asker.said.front(), ContainsSubstring(neighbour.address() + " takes part in a job") &&
                                     ContainsSubstring("; trying again"));
}

TEST_CASE("a peer that accepts and says nothing may pass, one of another version does not") {
  Asker asker;
  const auto frozen = net::listen_on({"127.0.0.1", 0}).value();
  const auto silent = ask_for_job(asker.applicant(), "127.0.0.1:" + std::to_string(frozen.port));
  REQUIRE_FALSE(silent);
  CHECK(silent.error().code == Errc::network);
  CHECK(silent.error().exit_code() == 1);
  const Neighbour neighbour{"itself"};
  asker.network.version = "1.2.4";
  const auto other = ask_for_job(asker.applicant(), neighbour.address());
  REQUIRE_FALSE(other);
  CHECK(other.error().exit_code() == 2);
  CHECK_THAT(other.error().message, ContainsSubstring("is troupe 1.2.3"));
}

TEST_CASE("a name that does not resolve yet may pass") {
  Asker asker;
  const auto found = ask_for_job(asker.applicant(), "host.invalid:7401");
  REQUIRE_FALSE(found);
  CHECK(found.error().code == Errc::network);
  CHECK(found.error().whose == Whose::between);
}

TEST_CASE("a node begins a job when most of those named have it do so") {
  Asker asker;
  const auto nobody = to_string(free_endpoint());
  const Neighbour agrees{"", asker.own};
  asker.config.cluster.join = {asker.own, agrees.address(), nobody};
  auto found = asker.find_running_job();
  REQUIRE(found);
  CHECK_FALSE(*found);
  asker.config.cluster.join = {asker.own, nobody, to_string(free_endpoint())};
  found = asker.find_running_job();
  REQUIRE_FALSE(found);
  CHECK(found.error().message ==
        "asked to stop while waiting to begin a job: 1 of 3 nodes of cluster.join are here, too "
        "few to begin a job");
  asker.config.cluster.join = {asker.own, nobody}; // half of them, with the first
  found = asker.find_running_job();
  REQUIRE(found);
  CHECK_FALSE(*found);
}

TEST_CASE("a node does not begin a job where another is to begin it") {
  Asker asker;
  const Neighbour other{"", "other:1"};
  asker.config.cluster.join = {asker.own, other.address()};
  REQUIRE_FALSE(asker.find_running_job());
  REQUIRE(asker.said.size() == 1);
  CHECK_THAT(asker.said.front(), ContainsSubstring("has other:1 begin the job"));
}

TEST_CASE("a node that lingers after its job keeps nobody from beginning another") {
  Asker asker;
  const Neighbour lingers{asker.own, asker.own, true};
  asker.config.cluster.join = {asker.own, lingers.address()};
  const auto found = actors::find_running_job(
      asker.applicant(),
      {.generation = 1,
       .nodes = {},
       .voters = {{asker.own, "earlier"}, {lingers.address(), "another process"}}});
  REQUIRE(found);
  CHECK_FALSE(*found);
}

TEST_CASE(
    "a node that would begin a job counts the voters of the last generation that others know") {
  const std::int64_t generation = GENERATE(4, 5, 6); // its own file is of the fifth
  CAPTURE(generation);
  Asker asker;
  Neighbour other{"", asker.own, false, generation};
  asker.config.cluster.join = {asker.own, other.address()};
  const Members before{.generation = 5,
                       .nodes = {},
                       .voters = {{asker.own, "earlier"}, {other.address(), "earlier"}}};
  const auto found = actors::find_running_job(asker.applicant(), before);
  REQUIRE(found.has_value() == (generation < 6));
  if (!found)
    CHECK_THAT(asker.said.front(),
               ContainsSubstring("1 of 1 nodes that vote on members may still train this run"));
}

TEST_CASE("a node that was the only one to train begins a job again though its voters live") {
  const bool other_trained = GENERATE(false, true), other_says_so = GENERATE(false, true);
  const std::int64_t known = GENERATE(0, 5); // to the spare; 0: it knows of no job
  CAPTURE(other_trained, known);
  Asker asker;
  const Neighbour spare{"", asker.own, false, known, other_says_so},
      witness{"", asker.own, false, 5, false};
  asker.config.cluster.join = {asker.own, spare.address(), witness.address()};
  Members before{.generation = 5,
                 .nodes = {{asker.own, "earlier"}},
                 .voters = {{asker.own, "earlier"},
                            {spare.address(), "its process"},
                            {witness.address(), "its process"}}};
  if (other_trained)
    before.nodes.push_back(before.voters[1]);
  const auto found = actors::find_running_job(asker.applicant(), before);
  REQUIRE(found.has_value() == (!other_trained && !other_says_so && known == 5));
  if (!found)
    CHECK(asker.said.front() ==
          "2 of 3 nodes that vote on members may still train this run; trying again");
}
