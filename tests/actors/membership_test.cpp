#include "deterministic.hpp"

#include "troupe/actors/membership.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <map>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A daemon's NODE, as far as MEMBERSHIP knows it: asks for a seat, and notes what it is told.
struct Applicant {
  std::optional<Seat> seat;
  store_actor store;
  std::optional<JobEnd> end;
};

struct DaemonStub {
  static inline const char* name = "daemon_stub";
  DaemonStub(member_actor::pointer stub, membership_actor asked, NodeInfo its_info,
             std::shared_ptr<Applicant> seen_by)
      : self{stub}, membership{std::move(asked)}, info{std::move(its_info)}, seen{std::move(
                                                                                 seen_by)} {}
  member_actor::behavior_type make_behavior() {
    self->request(membership, caf::infinite, atom::join_v, info, member_actor{self})
        .then([this](const Seat& seat, const store_actor& store) {
          seen->seat = seat;
          seen->store = store;
        });
    return {[this](atom::finish, const JobEnd& end) { seen->end = end; }};
  }
  member_actor::pointer self;
  membership_actor membership;
  NodeInfo info;
  std::shared_ptr<Applicant> seen;
};

/// The coordinator's part in this: what it was told.
struct Told {
  std::vector<Error> failures;
  std::vector<std::string> lost;
  int stops = 0;
};

struct CoordinatorStub {
  static inline const char* name = "coordinator_stub";
  CoordinatorStub(coordinator_actor::pointer, std::shared_ptr<Told> seen_by)
      : told{std::move(seen_by)} {}
  coordinator_actor::behavior_type make_behavior() {
    return {[](atom::join, const RankInfo&, const worker_actor&, const shard_manager_actor&,
               const metrics_actor&) {},
            [](atom::run) -> caf::result<RunOutcomePtr> { return RunOutcomePtr{}; },
            [](atom::step_committed, const StepReport&) {},
            [](atom::evaluated, const EvaluationReport&) {},
            [this](atom::failed, const Error& error) { told->failures.push_back(error); },
            [](atom::failed, double) {},
            [this](atom::lost, const std::string& address) { told->lost.push_back(address); },
            [this](atom::stop) { ++told->stops; },
            [](atom::status) { return JobStatus{}; }};
  }
  std::shared_ptr<Told> told;
};

struct Cluster : test::Deterministic {
  explicit Cluster(std::int32_t min_nodes, std::shared_ptr<const Checkpoint> beginning = nullptr) {
    membership = test::spawn_state<MembershipState, membership_actor>(
        system, MembershipSetup{.min_nodes = min_nodes,
                                .max_nodes = min_nodes,
                                .quorum = 60s,
                                .beginning = std::move(beginning),
                                .say = [this](const std::string& text) { said.push_back(text); }});
  }
  ~Cluster() {
    for (const auto& [address, stub] : stubs)
      self->send_exit(stub, caf::exit_reason::kill);
    self->send_exit(coordinator, caf::exit_reason::kill);
    self->send_exit(membership, caf::exit_reason::kill);
    scheduler.run();
  }
  std::shared_ptr<Applicant> join(const std::string& address) {
    auto daemon = std::make_shared<Applicant>();
    stubs[address] = test::spawn_state<DaemonStub, member_actor>(
        system, membership,
        NodeInfo{.address = address, .host = {}, .version = "1", .workers = 1, .job = {}}, daemon);
    scheduler.run();
    return daemon;
  }
  void lead() {
    coordinator = test::spawn_state<CoordinatorStub, coordinator_actor>(system, told);
    self->send(membership, atom::lead_v, coordinator);
    scheduler.run();
  }
  void kill(const std::string& address) {
    self->send_exit(stubs.at(address), caf::exit_reason::kill);
    scheduler.run();
  }
  template <class... Message>
  void tell(Message&&... message) {
    self->send(membership, std::forward<Message>(message)...);
    scheduler.run();
  }

  membership_actor membership;
  coordinator_actor coordinator;
  std::map<std::string, member_actor> stubs;
  std::vector<std::string> said;
  std::shared_ptr<Told> told = std::make_shared<Told>();
};

} // namespace

TEST_CASE("the job begins when all nodes are there, and says who is waited for") {
  Cluster cluster{3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  CHECK_FALSE(a->seat);
  CHECK(cluster.said.back() == "waiting for 1 more node (2 of 3: a:1, b:1)");
  const auto c = cluster.join("c:1");
  REQUIRE(a->seat);
  REQUIRE(c->seat);
  CHECK_FALSE(a->seat->refused);
  CHECK(a->seat->leads());
  CHECK_FALSE(c->seat->leads());
  CHECK(c->seat->place().address == "c:1");
  CHECK(c->seat->place().first_rank == 2);
  CHECK(a->store == c->store);
  const auto late = cluster.join("d:1");
  REQUIRE(late->seat);
  REQUIRE(late->seat->refused);
  CHECK_THAT(late->seat->refused->message, ContainsSubstring("has begun"));
  CHECK(late->seat->refused->code == Errc::network); // it may have more luck later
}

TEST_CASE("who comes when the job has ended is told whether to try again") {
  Cluster failed{1}, completed{1};
  for (auto* cluster : {&failed, &completed}) {
    cluster->join("a:1");
    cluster->lead();
  }
  failed.tell(atom::finish_v,
              JobEnd{.status = "failed", .error = Error{Errc::network, "node b:1 is gone"}});
  const auto early = failed.join("b:1");
  REQUIRE(early->seat);
  CHECK(early->seat->refused->code == Errc::network);
  completed.tell(atom::finish_v, JobEnd{.status = "completed", .error = {}});
  const auto late = completed.join("b:1");
  REQUIRE(late->seat);
  CHECK(late->seat->refused->code == Errc::stopped);
  CHECK(late->seat->refused->message == "the job has ended already: completed");
}

TEST_CASE("a node that goes before the beginning is waited for again") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1");
  cluster.kill("a:1");
  const auto b = cluster.join("b:1");
  CHECK_FALSE(b->seat);
  const auto c = cluster.join("c:1");
  REQUIRE(c->seat);
  CHECK(b->seat->leads());
}

TEST_CASE("nodes that do not come within the quorum timeout end the waiting") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1");
  REQUIRE(cluster.scheduler.trigger_timeout());
  cluster.scheduler.run();
  REQUIRE(a->seat);
  REQUIRE(a->seat->refused);
  CHECK_THAT(a->seat->refused->message,
             ContainsSubstring("1 of 2: a:1") && ContainsSubstring("cluster.timeouts.quorum"));
}

TEST_CASE("a node that goes in the middle of the job is named to the coordinator") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  cluster.kill("b:1");
  REQUIRE(cluster.told->failures.size() == 1);
  CHECK_THAT(cluster.told->failures.front().message,
             ContainsSubstring("node b:1 (rank 1) is gone"));
  CHECK(cluster.told->failures.front().where.node == "b:1");
  CHECK(cluster.told->lost == std::vector<std::string>{"b:1"});
  // And those who wait for what it would have put into the store are told.
  std::string error;
  auto asked = cluster.self->request(a->store, caf::infinite, atom::get_v, "key");
  cluster.scheduler.run();
  asked.receive([](const caf::byte_buffer&) { FAIL("nobody has put it"); },
                [&](const caf::error& why) { error = caf::to_string(why); });
  CHECK_THAT(error, ContainsSubstring("b:1"));
}

TEST_CASE("a node that fails before there is a coordinator ends the job for all") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.tell(atom::failed_v, Error{Errc::data, "no data here"});
  REQUIRE(a->end);
  REQUIRE(b->end);
  CHECK(b->end->status == "failed");
  CHECK(b->end->error->message == "no data here");
}

TEST_CASE("the end of the job is told to all, and nodes may go then") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  cluster.tell(atom::finish_v, JobEnd{.status = "completed", .error = {}});
  REQUIRE(b->end);
  CHECK(b->end->status == "completed");
  cluster.kill("b:1");
  CHECK(cluster.told->failures.empty());
}

TEST_CASE(
    "asked to stop, it waits for no more nodes, and passes it on once there is a coordinator") {
  Cluster waiting{2};
  const auto a = waiting.join("a:1");
  waiting.tell(atom::stop_v);
  REQUIRE(a->seat);
  CHECK(a->seat->refused->code == Errc::stopped);

  Cluster formed{1};
  formed.join("a:1");
  formed.tell(atom::stop_v);
  CHECK(formed.told->stops == 0);
  formed.lead();
  CHECK(formed.told->stops == 1);
}

TEST_CASE("a node gets the leader's checkpoint tensor by tensor") {
  const std::vector<float> values = {1, 2, 3, 4};
  auto checkpoint = std::make_shared<Checkpoint>();
  checkpoint->step = 7;
  checkpoint->tensors = {{"weight", Shape{2, 2}, values}};
  Cluster cluster{1, checkpoint};
  CHECK(cluster.join("a:1")->seat->tensors == 1);
  const auto fetch = [&](std::int32_t index) {
    std::optional<CheckpointPart> part;
    auto asked = cluster.self->request(cluster.membership, caf::infinite, atom::fetch_v, index);
    cluster.scheduler.run();
    asked.receive([&](const CheckpointPart& got) { part = got; }, [](const caf::error&) {});
    return part;
  };
  const auto part = fetch(0);
  REQUIRE(part);
  CHECK(part->step == 7);
  CHECK(part->name == "weight");
  CHECK(part->shape == Shape{2, 2});
  CHECK(part->values == values);
  CHECK_FALSE(fetch(1));
}
