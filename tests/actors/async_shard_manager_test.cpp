// A parameter server shard reports its steps. If it receives messages that no rank may send, its
// generation fails, and its memory stays unchanged.
#include "actors/roles/async_shard_manager.hpp"
#include "core/config/config.hpp"
#include "cpu/host_device.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/stub_roles.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <future>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using training::Gradients;

namespace {

constexpr std::size_t per_unit = 5;

/// One of two ranks, without the other rank and without a worker.
class SingleServer {
public:
  SingleServer() {
    rank_state_ = make_rank_state();
    training::GradientReducerSetup reducer{
        .rank_state = rank_state_,
        .slice_assignment = data::SliceAssignment::on_demand(2, 2),
        .optimizer = [](std::int64_t) { return OptimizerArguments{}; }};
    const auto owner = training::ParameterServerShard::create(reducer).value();
    coordinator_ = test::spawn_stub<coordinator_actor>(
        system_, [this](atom::failed, const Error& error) { error_.set_value(error); },
        [this](atom::vote, std::int32_t, std::int64_t step) {
          caf::anon_send(shard_manager_, atom::advance_v, step);
        },
        [this](atom::step_committed, const StepReport& report) { report_.set_value(report); });
    shard_bytes_ = rank_state_->state->layout().plan().shard_elements() * sizeof(float);
    memory_ = rank_state_->device().allocate(shard_bytes_, MemoryKind::communication).value();
    point_to_point_ = collectives::PointToPoint::open({.process_of = {0, 0}}, nullptr).value();
    shard_manager_ = test::spawn_state<AsyncShardManagerState, parameter_server_actor>(
        system_, AsyncShardManagerSetup{.rank_state = rank_state_,
                                        .slice_assignment = reducer.slice_assignment,
                                        .owner = owner,
                                        .point_to_point = point_to_point_,
                                        .others = {.coordinator = coordinator_}});
  }
  ~SingleServer() {
    // As in a generation: enqueued work uses memory that is freed with the shard.
    CHECK(rank_state_->owner->synchronize());
    CHECK(rank_state_->communication->synchronize());
    caf::anon_send_exit(shard_manager_, caf::exit_reason::kill);
    caf::anon_send_exit(coordinator_, caf::exit_reason::kill);
  }

  void send(const Gradients& gradients) {
    auto message = gradients.to_message();
    message.from = 1;
    message.bytes = shard_bytes_;
    message.values = memory_;
    point_to_point_->send(std::move(message));
  }
  Error error() {
    auto error = error_.get_future();
    REQUIRE(error.wait_for(20s) == std::future_status::ready);
    return error.get();
  }

  /// The rank's worker has computed a slice.
  void computed(const WorkerStep& slice) {
    caf::anon_send(shard_manager_, atom::done_v, slice, SpansPtr{});
  }
  StepReport report() {
    auto report = report_.get_future();
    REQUIRE(report.wait_for(20s) == std::future_status::ready);
    return report.get();
  }

private:
  static std::shared_ptr<training::RankState> make_rank_state() {
    StorageLayout layout;
    layout.parameters = {{"a", {per_unit}, 0, 0, per_unit, nullptr}};
    layout.unit_elements = {per_unit};
    layout.unit_names = {"a"};
    auto rank_state = std::make_shared<training::RankState>();
    rank_state->compiled = std::make_shared<training::CompiledWorker>(
        training::CompiledWorker{.device = cpu::make_host_device(0, 1)});
    rank_state->communication = rank_state->device().create_stream({.name = "communication"});
    rank_state->owner = rank_state->device().create_stream({.name = "owner"});
    rank_state->state = training::ModelState::create(
                            rank_state->device(), layout,
                            {.optimizer_slots = {"momentum"},
                             .strategy = training::strategy_of(
                                 {.strategy = StrategyKind::async, .async = {.staleness = 1}}, 2)})
                            .value();
    Checkpoint start;
    const std::vector<float> values = {1, -2, 3, -4, 5};
    start.tensors = {{"a", {per_unit}, values}};
    REQUIRE(rank_state->state->load(*rank_state->communication, *state_in_memory(start)));
    return rank_state;
  }

  std::shared_ptr<training::RankState> rank_state_;
  std::promise<Error> error_;
  std::promise<StepReport> report_;
  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  std::shared_ptr<collectives::PointToPoint> point_to_point_;
  std::size_t shard_bytes_ = 0;
  BufferPtr memory_;
  coordinator_actor coordinator_;
  parameter_server_actor shard_manager_;
};

} // namespace

TEST_CASE("gradients of a bucket that does not exist fail the generation") {
  SingleServer owner;
  owner.send({.step = 0, .bucket = 1});
  const auto error = owner.error();
  CHECK(error.code == Errc::network);
  CHECK(error.where.rank == 1);
  CHECK(error.where.actor == "shard_manager");
  CHECK_THAT(error.message, ContainsSubstring("rank 1 has sent gradients of bucket 1"));
}

TEST_CASE("gradients that arrive twice fail the generation") {
  SingleServer owner;
  owner.send({.step = 1, .slice = 1});
  owner.send({.step = 1, .slice = 0});
  owner.send({.step = 1, .slice = 1});
  CHECK_THAT(owner.error().message, ContainsSubstring("gradients that are not expected now"));
}

TEST_CASE("a rank reports the sum of its slices' measurements with a step that is applied") {
  SingleServer owner;
  owner.computed({.step = 1, .loss = 8, .samples = 2}); // of the next step
  owner.computed({.step = 0, .loss = 1, .samples = 4, .busy = 10ms, .ready_batches = 2});
  owner.computed({.step = 0, .loss = 2, .samples = 3, .busy = 20ms, .ready_batches = 1});
  for (const int slice : {0, 1})
    owner.send({.step = 0, .slice = slice});
  const auto report = owner.report();
  CHECK(report.worker.step == 0);
  CHECK(report.worker.loss == 3);
  CHECK(report.worker.samples == 7);
  CHECK(report.worker.busy == 30ms);
  CHECK(report.worker.ready_batches == 1);
}
