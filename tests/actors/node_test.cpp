// Tests a node with real roles on the host device, stub work and a stub METRICS; and a follower
// whose neighbours on other nodes do not exist.
#include "actors/node/node.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/small_job.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Messages that NODE's METRICS received, in order; used by one thread at a time.
struct Shown {
  std::vector<std::string> log;
  bool breaks = false; ///< throws at the first step
};

/// A node that trains a small job as its only node.
class Single {
public:
  /// `change`: modifies the job before it is compiled.
  explicit Single(const std::function<void(training::Job&)>& change = [](training::Job&) {}) {
    auto config = test::small_job();
    config.train.max_steps = 3;
    auto job = std::make_shared<training::Job>(*training::open_job(config, {}).value());
    change(*job);
    host = training::compile_job(job, 1, {}).value();
    metrics = test::spawn_stub<metrics_actor>(
        system,
        [shown = shown](atom::record, const RunRecordPtr& event) {
          if (!std::holds_alternative<metrics::StepRecord>(*event))
            return;
          shown->log.emplace_back("step");
          if (shown->breaks)
            throw std::runtime_error("it breaks");
        },
        [shown = shown](atom::finish, const RunOutcomePtr& outcome) {
          shown->log.push_back(outcome->summary.status);
          return outcome;
        });
  }
  ~Single() { caf::anon_send_exit(node, caf::exit_reason::user_shutdown); }
  Single(const Single&) = delete;
  Single& operator=(const Single&) = delete;

  RunOutcome run(const std::function<void(training::Generation&)>& before =
                     [](training::Generation&) {}) {
    return run(std::make_shared<test::SmallWork>(host, training::single_node_assignment(1, "here"),
                                                 metrics, before));
  }
  RunOutcome run(const NodeWorkPtr& work) {
    RunOutcome ended;
    caf::scoped_actor self{system};
    self->request(node, caf::infinite, atom::run_v, work)
        .receive([&](const RunOutcomePtr& outcome) { ended = *outcome; },
                 [](const caf::error& error) { FAIL(caf::to_string(error)); });
    return ended;
  }

  std::atomic<int> stops = 0;
  std::shared_ptr<Shown> shown = std::make_shared<Shown>();
  std::shared_ptr<training::CompiledJob> host;
  caf::actor_system_config settings;
  caf::actor_system system{settings};
  metrics_actor metrics;
  node_actor node =
      system.spawn<node_actor::stateful_impl<NodeState>>(NodeSetup{.stopped = [this] { ++stops; }});
};

/// A batch producer that throws instead of filling a batch.
class BrokenProducer final : public training::BatchProducer {
public:
  using BatchProducer::BatchProducer;
  std::int32_t slots() const override { return 1; }

private:
  const BatchView& view(std::int32_t) const override { return view_; }
  EventPtr enqueue(std::int32_t, data::Position, const data::Slice&,
                   const training::LoadFailed&) override {
    throw std::runtime_error("it breaks");
  }

  BatchView view_;
};

/// A node with an assignment in the job of another node, about to train.
struct Follower : test::Deterministic {
  struct Work : test::StubWork {
    explicit Work(Follower& of) : follower{of} {}

    Result<BuiltGenerationPtr> build() override {
      if (follower.end_while_forming)
        caf::anon_send(follower.node, atom::finish_v, *follower.end_while_forming);
      if (follower.not_built)
        return failure(*follower.not_built);
      return test::built_generation(follower.generation, follower.metrics);
    }
    void release(bool) override { ++follower.releases; }

    Follower& follower;
  };

  Follower() {
    training::NodeAssignment assignment{
        .refused = {},
        .generation = {.number = 1,
                       .nodes = {{"a:1", "a", "a:2", 0, 1}, {"b:1", "b", "b:2", 1, 1}}},
        .node = 1};
    membership = test::spawn_stub<membership_actor>(
        system,
        [assignment](atom::join, const NodeInfo&, const member_actor&)
            -> caf::result<training::NodeAssignment> { return assignment; },
        [](atom::follow) -> caf::result<coordinator_actor> {
          return caf::delegated<coordinator_actor>{}; // keeps the node waiting
        });
    metrics =
        test::spawn_stub<metrics_actor>(system, [this](atom::finish, const RunOutcomePtr& end) {
          ++finishes;
          return end;
        });
    generation = std::make_shared<training::Generation>(test::compile_job(test::small_job(), 2),
                                                        assignment, metrics::Trace{});
    node = test::spawn_state<NodeState, node_actor>(system, NodeSetup{.stopped = [] {}});
    self->send(node, atom::join_v, membership, std::string{"a:1"}, NodeInfo{.address = "b:1"});
    scheduler.run();
  }
  ~Follower() {
    for (const auto& actor :
         {caf::actor_cast<caf::actor>(node), caf::actor_cast<caf::actor>(membership)})
      self->send_exit(actor, caf::exit_reason::user_shutdown);
    scheduler.run();
  }

  auto run() {
    auto asked =
        self->request(node, caf::infinite, atom::run_v, NodeWorkPtr{std::make_shared<Work>(*this)});
    scheduler.run();
    return asked;
  }
  template <class... Message>
  void tell(Message&&... message) {
    self->send(node, std::forward<Message>(message)...);
    scheduler.run();
  }

  int finishes = 0, releases = 0;
  std::optional<JobEnd> end_while_forming;
  std::optional<Error> not_built;
  std::shared_ptr<training::Generation> generation;
  membership_actor membership;
  metrics_actor metrics;
  node_actor node;
};

/// Work whose build throws, or returns an error.
struct FailingWork : test::StubWork {
  explicit FailingWork(std::optional<Error> returned) : error{std::move(returned)} {}

  Result<BuiltGenerationPtr> build() override {
    return error ? failure(*error) : throw std::runtime_error("it breaks");
  }

  std::optional<Error> error; ///< none: it throws
};

} // namespace

TEST_CASE("a node builds, trains and releases before it reports how it ended") {
  Single single;
  const auto outcome = single.run();
  CHECK_FALSE(outcome.error);
  CHECK(outcome.summary.status == "completed");
  CHECK(outcome.summary.steps == 3);
  CHECK(single.shown->log == std::vector<std::string>{"step", "step", "step", "completed"});
  REQUIRE(single.host->state); // returned by the generation when it was released
  CHECK(single.host->state->header().step == 3);
  CHECK(single.stops == 0);
}

TEST_CASE("a node asked to stop while it builds trains no step") {
  Single single;
  const auto outcome = single.run(
      [&](training::Generation&) { caf::anon_send(single.node, atom::stop_v, StopReason::job); });
  CHECK_FALSE(outcome.error);
  CHECK(outcome.summary.status == "stopped");
  CHECK(outcome.summary.steps == 0);
  CHECK(single.shown->log == std::vector<std::string>{"stopped"});
  CHECK(single.stops == 1);
}

TEST_CASE("an actor that dies ends the job and is named") {
  std::function<void(training::Job&)> change = [](training::Job&) {};
  std::function<void(training::Generation&)> tamper = [](training::Generation&) {};
  const auto throws_at_step_1 = [](auto function) {
    return [function](std::int64_t step) {
      return step < 1 ? function(step) : throw std::runtime_error("it breaks");
    };
  };
  Where where;
  bool metrics_break = false;
  SECTION("an actor of a rank") {
    change = [&](training::Job& job) { job.optimizer = throws_at_step_1(job.optimizer); };
    where.actor = "shard_manager";
    where.rank = 0;
  }
  SECTION("an actor of the node") {
    tamper = [](training::Generation& generation) {
      generation.rank_states.front()->producers[index_of(PassMode::training)] =
          std::make_shared<BrokenProducer>(generation.job().training);
    };
    where.actor = "data_loader";
  }
  SECTION("an actor of the job") {
    change = [&](training::Job& job) { job.learning_rate = throws_at_step_1(job.learning_rate); };
    where.actor = "coordinator";
  }
  SECTION("METRICS") {
    metrics_break = true;
    where.actor = "metrics";
  }
  Single single{change};
  single.shown->breaks = metrics_break;
  const auto outcome = single.run(tamper);
  CHECK(outcome.summary.status == "failed");
  REQUIRE(outcome.error);
  CHECK(outcome.error->code == Errc::internal);
  CHECK_THAT(outcome.error->message,
             ContainsSubstring("the " + where.actor + " died: ") && ContainsSubstring("it breaks"));
  CHECK(outcome.error->where.node == "here");
  CHECK(outcome.error->where.actor == where.actor);
  CHECK(outcome.error->where.rank == where.rank);
  CHECK(outcome.error->where.step <= 3);
  CHECK(single.host->state); // the generation has returned its state
}

TEST_CASE("a failure of the blocking work is named, and an error that it returns is passed on") {
  Single single;
  SECTION("it throws") {
    const auto outcome = single.run(std::make_shared<FailingWork>(std::nullopt));
    CHECK_FALSE(outcome.built);
    REQUIRE(outcome.error);
    CHECK_THAT(
        outcome.error->to_string(),
        ContainsSubstring("internal: the generation builder died: it breaks") &&
            ContainsSubstring("(node " + training::host_name() + ", actor generation_builder)"));
  }
  SECTION("it returns an error") {
    const auto outcome = single.run(
        std::make_shared<FailingWork>(Error{Errc::data, "there are no images", {.node = "b:1"}}));
    CHECK_FALSE(outcome.built);
    REQUIRE(outcome.error);
    CHECK(outcome.error->to_string() == "data: there are no images (node b:1)");
  }
}

TEST_CASE("parts of the blocking work run one after the other, also if voters change meanwhile") {
  struct Recorded : test::StubWork {
    Result<BuiltGenerationPtr> build() override {
      log.emplace_back("build");
      return failure({Errc::data, "there are no images"});
    }
    void note_voters(const training::GenerationRecord&) override { log.emplace_back("voters"); }

    std::vector<std::string> log;
  };
  test::Deterministic actors;
  std::vector<std::function<void()>> begun;
  const auto node = test::spawn_state<NodeState, node_actor>(
      actors.system,
      NodeSetup{
          .stopped = [] {},
          .run_blocking = [&](std::function<void()> task) { begun.push_back(std::move(task)); }});
  const auto work = std::make_shared<Recorded>();
  auto asked = actors.self->request(node, caf::infinite, atom::run_v, NodeWorkPtr{work});
  actors.self->send(node, atom::decided_v, training::GenerationRecord{.number = 0});
  actors.scheduler.run();
  REQUIRE(begun.size() == 1); // the build
  begun[0]();
  actors.scheduler.run();
  REQUIRE(begun.size() == 2);
  CHECK(work->log == std::vector<std::string>{"build"});
  begun[1]();
  CHECK(work->log == std::vector<std::string>{"build", "voters"});
  asked.receive([](const RunOutcomePtr& outcome) { CHECK_FALSE(outcome->built); },
                [](const caf::error& error) { FAIL(caf::to_string(error)); });
  actors.self->send_exit(node, caf::exit_reason::user_shutdown);
  actors.scheduler.run();
  begun.clear(); // they own the node
}

TEST_CASE("the first reported end is the end of the job, also on a node that does not lead") {
  Follower follower;
  RunOutcomePtr outcome;
  auto asked = follower.run();
  CHECK(follower.releases == 0); // it waits for the coordinator
  const auto tell_end = [&](const std::string& why) {
    follower.tell(atom::finish_v, JobEnd{.result = {.status = "failed", .steps = 4},
                                         .error = Error{Errc::device, why}});
  };
  tell_end("the first");
  tell_end("the second");
  follower.self->send_exit(follower.membership, caf::exit_reason::kill); // the leader is lost, too
  follower.scheduler.run();
  asked.receive([&](RunOutcomePtr& answer) { outcome = std::move(answer); },
                [](const caf::error& error) { FAIL(caf::to_string(error)); });
  REQUIRE(outcome->error);
  CHECK(outcome->error->message == "the first");
  CHECK(outcome->summary.steps == 4);
  CHECK(follower.finishes == 1);
  CHECK(follower.releases == 1);
}

TEST_CASE("a job that ends while a node builds ends for it afterwards") {
  Follower follower;
  follower.end_while_forming = JobEnd{.result = {.status = "stopped"}, .error = {}};
  auto asked = follower.run();
  asked.receive(
      [](const RunOutcomePtr& outcome) {
        CHECK(outcome->summary.status == "stopped");
        CHECK_FALSE(outcome->error);
      },
      [](const caf::error& error) { FAIL(caf::to_string(error)); });
  CHECK(follower.releases == 1);
}

TEST_CASE("a node that cannot reach the others reports why the job ended") {
  const Error why{Errc::unsupported, "two ranks share one GPU", {.node = "a:1"}};
  const Error unreachable{Errc::network, "the store is gone"}, own{Errc::data, "no images"};
  const auto said = [&](const Error& error) {
    Follower follower;
    follower.end_while_forming = JobEnd{.result = {.status = "failed"}, .error = why};
    follower.not_built = error;
    auto asked = follower.run();
    std::string text;
    asked.receive([&](const RunOutcomePtr& outcome) { text = outcome->error->message; },
                  [](const caf::error& answer) { FAIL(caf::to_string(answer)); });
    return text;
  };
  CHECK(said(unreachable) == why.message);
  CHECK(said(own) == own.message);
}

TEST_CASE("a node reports the end of its job even after the leader is gone") {
  Follower follower;
  follower.run();
  follower.tell(atom::finish_v, JobEnd{.result = {.status = "failed"},
                                       .error = Error{Errc::device, "it has failed"}});
  follower.self->send_exit(follower.membership, caf::exit_reason::kill);
  follower.scheduler.run();
  auto asked = follower.self->request(follower.node, caf::infinite, atom::status_v);
  follower.scheduler.run();
  asked.receive(
      [](const JobStatus& status) {
        CHECK(status.phase == "ended");
        CHECK(status.error == "it has failed");
      },
      [](const caf::error& error) { FAIL(caf::to_string(error)); });
}

TEST_CASE("a lost leader is named by its address") {
  Follower follower;
  auto asked = follower.run();
  follower.self->send_exit(follower.membership, caf::exit_reason::kill);
  follower.scheduler.run();
  asked.receive(
      [](const RunOutcomePtr& outcome) {
        REQUIRE(outcome->error);
        CHECK_THAT(outcome->error->to_string(),
                   ContainsSubstring("network: node a:1, which led the job, was lost: ") &&
                       ContainsSubstring("(node a:1)"));
      },
      [](const caf::error& error) { FAIL(caf::to_string(error)); });
}

TEST_CASE("a node that is left out joins with a new attempt and reports why it waits") {
  const bool has_led = GENERATE(false, true);
  CAPTURE(has_led);
  test::Deterministic actors;
  std::vector<std::int64_t> attempts;
  int votes_left = 0, stops = 0;
  const auto membership = test::spawn_stub<membership_actor>(
      actors.system, [&](atom::join, const NodeInfo& info, const member_actor&) {
        attempts.push_back(info.attempt);
        return training::NodeAssignment{
            .refused = Error{Errc::network, "left out: nobody reaches it"}, .left_out = true};
      });
  const auto voter =
      test::spawn_stub<consensus_actor>(actors.system, [&](atom::leave) { ++votes_left; });
  const auto node = test::spawn_state<NodeState, node_actor>(
      actors.system, NodeSetup{.run = "run", .stopped = [&] { ++stops; }});
  actors.self->send(node, atom::vote_v, training::Voter{"b:1", "1"}, voter);
  for (int times = 0; times < 2; ++times) {
    actors.self->send(node, atom::join_v, membership, std::string{has_led ? "b:1" : "a:1"},
                      NodeInfo{.address = "b:1"});
    actors.scheduler.run();
  }
  CHECK(attempts == std::vector<std::int64_t>{1, 2});
  CHECK(votes_left == (has_led ? 2 : 0)); // the other nodes decide which node leads
  auto asked = actors.self->request(node, caf::infinite, atom::status_v);
  actors.scheduler.run();
  asked.receive(
      [](const JobStatus& status) { CHECK(status.phase == "left out: nobody reaches it"); },
      [](const caf::error& error) { FAIL(caf::to_string(error)); });
  CHECK(stops == 0);
  actors.self->send(node, atom::finish_v, JobEnd{.result = {.status = "completed"}});
  actors.scheduler.run();
  CHECK(stops == 1); // without waiting
  for (const auto& actor : {caf::actor_cast<caf::actor>(node), caf::actor_cast<caf::actor>(voter),
                            caf::actor_cast<caf::actor>(membership)})
    actors.self->send_exit(actor, caf::exit_reason::kill);
  actors.scheduler.run();
}

TEST_CASE("a build that fails after a halt is repeated until the job ends") {
  struct Repeated : test::StubWork {
    explicit Repeated(Follower& of) : follower{of} {}

    Result<BuiltGenerationPtr> build() override {
      if (++builds == 1)
        return test::built_generation(follower.generation, follower.metrics);
      if (builds == 4)
        caf::anon_send(follower.node, atom::finish_v, JobEnd{.result = {.status = "stopped"}});
      return failure({Errc::io, "the folder is gone"});
    }

    Follower& follower;
    int builds = 0;
  };
  Follower follower;
  const auto work = std::make_shared<Repeated>(follower);
  auto asked = follower.self->request(follower.node, caf::infinite, atom::run_v, NodeWorkPtr{work});
  follower.scheduler.run();
  follower.self->send_exit(follower.metrics, caf::exit_reason::user_shutdown); // hands over no view
  follower.scheduler.run();
  follower.tell(atom::halt_v, std::int64_t{1}, Error{Errc::network, "node c:1 was lost"});
  CHECK(work->builds == 4);
  asked.receive(
      [](const RunOutcomePtr& outcome) { CHECK(outcome->error->message == "the folder is gone"); },
      [](const caf::error& error) { FAIL(caf::to_string(error)); });
}

TEST_CASE("a job that has ended is final for a node, whatever it hears later") {
  for (const auto phase : {NodePhase::draining, NodePhase::done})
    for (const auto& change : node_changes)
      CHECK(after(phase, change.event) >= phase);
  CHECK(after(NodePhase::draining, NodeEvent::halt) == NodePhase::draining);
  CHECK(after(NodePhase::waiting, NodeEvent::halt) == NodePhase::waiting); // of the last generation
}
