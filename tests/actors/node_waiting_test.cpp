// Tests a node that waits for its assignment at a MEMBERSHIP that the test controls, and its
// answers to questions about its job.
#include "actors/caf_error.hpp"
#include "actors/node/node.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/stub_roles.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <optional>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// The node b:1, and the MEMBERSHIP of a:1, which keeps joining nodes waiting.
struct Waiting : test::Deterministic {
  explicit Waiting(std::vector<std::string> join = {"a:1", "b:1", "c:1"}, bool is_silent = false) {
    membership = test::spawn_stub<membership_actor>(
        system,
        [this](atom::join, const NodeInfo&,
               const member_actor&) -> caf::result<training::NodeAssignment> {
          if (assignment)
            return *assignment;
          return caf::delegated<training::NodeAssignment>{};
        },
        [this, is_silent](atom::status, const member_actor&) -> caf::result<WaitStatus> {
          if (is_silent)
            return caf::delegated<WaitStatus>{};
          return told;
        },
        [this](atom::stop, const member_actor& who, StopReason reason) -> caf::result<void> {
          withdrawn = withdrawn || (reason == StopReason::withdrawn && who == node);
          stops += reason == StopReason::job;
          if (reason != StopReason::node && reason != StopReason::signal)
            return caf::unit;
          ++leaves;
          if (keeps)
            return to_caf_error(
                {Errc::invalid_input, "it leads the job, and the job would end if it left"});
          return caf::unit;
        });
    node = test::spawn_state<NodeState, node_actor>(
        system, NodeSetup{.run = "run",
                          .join = std::move(join),
                          .say = [this](const std::string& text) { said.push_back(text); },
                          .stopped = [] {}});
    self->send(node, atom::vote_v, training::Voter{"b:1", "process"}, consensus_actor{});
    scheduler.run();
  }
  ~Waiting() {
    for (const auto& actor :
         {caf::actor_cast<caf::actor>(node), caf::actor_cast<caf::actor>(membership)})
      self->send_exit(actor, caf::exit_reason::user_shutdown);
    scheduler.run();
  }

  void ask_for_assignment(std::chrono::milliseconds time_left, const std::string& leader = "a:1") {
    asked.emplace(self->request(node, caf::infinite, atom::join_v, membership, leader,
                                NodeInfo{.address = "b:1", .time_left_ms = time_left.count()}));
    scheduler.run();
  }
  /// Advances the clock in steps of a second, so that timers expire in between.
  void pass(std::chrono::seconds time) {
    for (; time > 0s; time -= 1s) {
      scheduler.advance_time(1s);
      scheduler.run();
    }
  }
  /// Returns the reason why the node was refused.
  Error refusal() {
    Error error;
    asked->receive(
        [&](const training::NodeAssignment& assignment) { error = assignment.refused.value(); },
        [](const caf::error& answer) { FAIL(caf::to_string(answer)); });
    return error;
  }
  /// Returns the node's error for a request for its job.
  Error no_job() {
    Error error;
    auto request = self->request(node, caf::infinite, atom::join_v);
    scheduler.run();
    request.receive([](const membership_actor&, const std::string&) { FAIL("it has a job"); },
                    [&](const caf::error& answer) { error = from_caf_error(answer, {}); });
    return error;
  }
  std::pair<std::string, bool> begins(const std::string& requester) {
    std::pair<std::string, bool> answer;
    auto request = self->request(node, caf::infinite, atom::begin_v, requester);
    scheduler.run();
    request.receive(
        [&](const training::Voter&, const std::string& address, bool has_ended,
            const training::GenerationRecord&) {
          answer = {address, has_ended};
        },
        [](const caf::error& error) { FAIL(caf::to_string(error)); });
    return answer;
  }
  JobStatus status() {
    JobStatus answer;
    auto request = self->request(node, caf::infinite, atom::status_v);
    scheduler.run();
    pass(3s); // MEMBERSHIP may not answer
    request.receive([&](const JobStatus& job) { answer = job; },
                    [](const caf::error& error) { FAIL(caf::to_string(error)); });
    return answer;
  }
  void end(JobEnd end) {
    self->send(node, atom::finish_v, std::move(end));
    scheduler.run();
  }

  WaitStatus told{"waiting for 1 more node (2 of 3: a:1, b:1)", 0, 300'000};
  std::optional<training::NodeAssignment> assignment; ///< assignment that MEMBERSHIP gives
  bool withdrawn = false;
  bool keeps = false;        ///< refuses requests to leave
  int leaves = 0, stops = 0; ///< requests of the node to leave, and to stop the job
  std::vector<std::string> said;
  membership_actor membership;
  node_actor node;
  using Asked = decltype(std::declval<caf::scoped_actor&>()->request(
      std::declval<node_actor&>(), caf::infinite, atom::join_v, std::declval<membership_actor&>(),
      std::string{}, NodeInfo{}));
  std::optional<Asked> asked;
};

} // namespace

TEST_CASE("a node without an assignment by its deadline gives up and tells MEMBERSHIP") {
  Waiting waiting;
  waiting.ask_for_assignment(60s);
  waiting.pass(61s);
  CHECK_FALSE(waiting.withdrawn);
  waiting.pass(2s);
  CHECK(waiting.withdrawn);
  const auto error = waiting.refusal();
  CHECK(error.code == Errc::network);
  CHECK(error.exit_code() == 1);
  CHECK(error.message == "not admitted to the job of a:1: " + waiting.told.what);
  CHECK(waiting.no_job().code == Errc::network);
}

TEST_CASE("a spare waits until the job ends") {
  Waiting waiting;
  waiting.told = {"waiting as a spare: there are 3 nodes already"};
  waiting.ask_for_assignment(60s);
  waiting.pass(120s);
  CHECK_FALSE(waiting.withdrawn);
  CHECK(waiting.said.empty());
  CHECK(waiting.status().wait.what == waiting.told.what);
}

TEST_CASE("a node whose MEMBERSHIP does not answer treats the leader as lost") {
  Waiting waiting{{"a:1"}, true};
  waiting.ask_for_assignment(600s);
  waiting.pass(20s);
  CHECK(waiting.status().phase == "waiting to be admitted to the job of a:1");
  waiting.pass(10s);
  const auto error = waiting.refusal();
  CHECK(error.code == Errc::network);
  CHECK_THAT(error.message,
             ContainsSubstring("a:1, which leads the job, has not answered within 30s"));
}

TEST_CASE("a node that waits for its assignment ends with the job") {
  const bool has_failed = GENERATE(false, true);
  Waiting waiting;
  waiting.ask_for_assignment(600s);
  waiting.end({.result = {.status = has_failed ? "failed" : "completed"},
               .error = has_failed ? std::optional{Error{Errc::device, "broken"}} : std::nullopt});
  const auto error = waiting.refusal();
  CHECK(error.code == (has_failed ? Errc::device : Errc::stopped));
  CHECK(error.message == (has_failed ? "broken" : "the job has ended already: completed"));
}

TEST_CASE("a node that trained and becomes a spare reports why") {
  Waiting waiting;
  training::GenerationRecord record{.number = 1, .nodes = {{.address = "a:1"}, {.address = "b:1"}}};
  waiting.assignment = training::NodeAssignment{.refused = {}, .generation = record, .node = 1};
  waiting.ask_for_assignment(600s);
  waiting.assignment.reset();
  waiting.ask_for_assignment(600s);
  waiting.told = {"waiting as a spare: workers train in groups of 2 (parallel.shard_group)"};
  record.spares = {"b:1"};
  for (const std::int64_t generation : {2, 3}) { // for one reason, which is reported once
    record.number = generation;
    waiting.self->send(waiting.node, atom::decided_v, record);
    waiting.scheduler.run();
  }
  CHECK(waiting.said == std::vector{waiting.told.what});
}

TEST_CASE("a wait is logged after a tenth of the leader's limit, and status reports it") {
  Waiting waiting;
  waiting.told.waited_ms = 29'000;
  waiting.ask_for_assignment(600s);
  waiting.pass(3s);
  CHECK(waiting.said.empty());
  waiting.told.waited_ms = 31'000;
  waiting.pass(4s);
  CHECK(waiting.said == std::vector<std::string>{"still " + waiting.told.what + " (31s of 5min)"});
  const auto status = waiting.status();
  CHECK(status.phase == waiting.told.what);
  CHECK(status.wait == waiting.told);
}

TEST_CASE("a node whose job has ended reports how, and that it has no job") {
  Waiting waiting;
  waiting.ask_for_assignment(600s);
  SECTION("it has failed") {
    waiting.end(failed_end({Errc::device, "it has failed"}));
    const auto error = waiting.no_job();
    CHECK(error.code == Errc::network);
    CHECK(error.message == "its job has failed, and it is shutting down");
  }
  SECTION("it has completed") {
    waiting.end({.result = {.status = "completed"}});
    const auto error = waiting.no_job();
    CHECK(error.code == Errc::stopped);
    CHECK(error.message == "the job has ended already: completed");
  }
  SECTION("the other nodes continue without this one") {
    waiting.end({.result = {.status = "stopped"}, .for_all = false});
    CHECK(waiting.no_job().code == Errc::network);
  }
  CHECK(waiting.begins("c:1") == std::pair{std::string{"a:1"}, true});
}

TEST_CASE("a node names the one that should begin a job, unless it is in another node's job") {
  Waiting first_of_several;
  CHECK(first_of_several.begins("c:1") == std::pair{std::string{"a:1"}, false});
  first_of_several.ask_for_assignment(0s);
  CHECK(first_of_several.begins("c:1") == std::pair{std::string{}, false});
  CHECK(first_of_several.begins("a:1").first == "a:1"); // a:1 leads no job, or it would not ask
  Waiting told_of_one{{"a:1"}};
  CHECK(told_of_one.begins("c:1").first == "c:1");
  Waiting told_of_none{{}};
  CHECK(told_of_none.begins("c:1").first == "b:1");
}

TEST_CASE("a request to leave or to stop is repeated to a new leader") {
  const bool stops = GENERATE(false, true);
  Waiting waiting;
  waiting.ask_for_assignment(600s);
  waiting.self->send(waiting.node, atom::stop_v, stops ? StopReason::job : StopReason::signal);
  waiting.scheduler.run();
  CHECK(std::pair{waiting.leaves, waiting.stops} == (stops ? std::pair{0, 1} : std::pair{1, 0}));
  waiting.ask_for_assignment(600s);
  CHECK(std::pair{waiting.leaves, waiting.stops} == (stops ? std::pair{0, 2} : std::pair{2, 0}));
}

TEST_CASE("a node elected before it notices the loss of its leader names that leader") {
  Waiting waiting;
  waiting.ask_for_assignment(600s);
  waiting.self->send(waiting.node, atom::lead_v, std::string{"b:1"});
  waiting.scheduler.run();
  CHECK(waiting.refusal().message ==
        "node a:1, which led the job, was lost: this node was elected");
}

TEST_CASE("SIGTERM stops a job whose leader may not leave, even after a request to leave") {
  Waiting waiting;
  waiting.ask_for_assignment(0s, "b:1");
  waiting.keeps = true;
  waiting.self->send(waiting.node, atom::stop_v, StopReason::node);
  waiting.scheduler.run();
  CHECK(std::pair{waiting.leaves, waiting.stops} == std::pair{1, 0});
  waiting.self->send(waiting.node, atom::stop_v, StopReason::signal);
  waiting.scheduler.run();
  CHECK(std::pair{waiting.leaves, waiting.stops} == std::pair{2, 1});
}
