// Tests SHARD MANAGERs of several ranks, with real streams and collectives, with gradients that are
// not finite.
#include "actors/roles/shard_manager.hpp"
#include "collectives/shared_device/shared_communicator.hpp"
#include "cpu/host_device.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/stub_roles.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cmath>
#include <condition_variable>
#include <mutex>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t per_unit = 5;
constexpr int units = 2;

/// Reports of the ranks, from any thread.
class Reports {
public:
  void add(const StepReport& report) {
    const std::lock_guard lock{mutex_};
    reports_.push_back(report);
    changed_.notify_all();
  }
  void add(const Error& error) {
    const std::lock_guard lock{mutex_};
    errors_.push_back(error);
    changed_.notify_all();
  }
  /// Waits until all ranks have sent their reports of a step, and returns them.
  std::vector<StepReport> take(std::size_t count) {
    std::unique_lock lock{mutex_};
    const bool in_time =
        changed_.wait_for(lock, 20s, [&] { return reports_.size() == count || !errors_.empty(); });
    REQUIRE(in_time);
    REQUIRE(errors_.empty());
    return std::exchange(reports_, {});
  }
  Error take_error() {
    std::unique_lock lock{mutex_};
    REQUIRE(changed_.wait_for(lock, 20s, [&] { return !errors_.empty(); }));
    return errors_.front();
  }

  void add_failed(double loss) {
    const std::lock_guard lock{mutex_};
    failed_losses_.push_back(loss);
  }
  std::vector<double> failed_losses() {
    const std::lock_guard lock{mutex_};
    return failed_losses_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<StepReport> reports_;
  std::vector<Error> errors_;
  std::vector<double> failed_losses_; ///< each arrives before its error
};

std::shared_ptr<training::RankState> make_rank_state(int rank, int world_size,
                                                     const LossScaleOptions& loss_scale) {
  StorageLayout layout;
  layout.parameters = {{"a", {per_unit}, 0, 0, per_unit, nullptr},
                       {"b", {per_unit}, 1, 0, per_unit, nullptr}};
  layout.unit_elements = {per_unit, per_unit};
  layout.unit_names = {"a", "b"};
  auto rank_state = std::make_shared<training::RankState>();
  rank_state->rank = rank;
  rank_state->compiled = std::make_shared<training::CompiledWorker>(
      training::CompiledWorker{.device = cpu::make_host_device(rank, 1)});
  rank_state->communication = rank_state->device().create_stream({.name = "communication"});
  rank_state->state = training::ModelState::create(rank_state->device(), layout,
                                                   {.optimizer_slots = {"momentum"},
                                                    .loss_scale = loss_scale,
                                                    .strategy = {.world_size = world_size},
                                                    .buckets = {{1, 1}, {0, 0}}})
                          .value();
  Checkpoint start;
  const std::vector<float> values = {1, -2, 3, -4, 5};
  start.tensors = {{"a", {per_unit}, values}, {"b", {per_unit}, values}};
  REQUIRE(rank_state->state->load(*rank_state->communication, *state_in_memory(start)));
  return rank_state;
}

/// Ranks that receive gradients without workers.
class ShardRuntime {
public:
  ShardRuntime(int world_size, const LossScaleOptions& loss_scale,
               const OptimizerArguments& optimizer = {.lr = 0.5f, .momentum = 0.5f}) {
    auto everybody = collectives::make_shared_group(world_size, 10s);
    coordinator_ = test::spawn_stub<coordinator_actor>(
        system_,
        [to = reports_](atom::step_committed, const StepReport& report) { to->add(report); },
        [to = reports_](atom::failed, const Error& error) { to->add(error); },
        [to = reports_](atom::failed, double loss) { to->add_failed(loss); });
    for (int rank = 0; rank < world_size; ++rank) {
      rank_states_.push_back(make_rank_state(rank, world_size, loss_scale));
      rank_states_.back()->world = rank_states_.back()->replicate_group =
          std::move(everybody[static_cast<std::size_t>(rank)]);
      shard_managers_.push_back(
          test::spawn_state<ShardManagerState, synchronous_shard_manager_actor>(
              system_,
              ShardManagerSetup{
                  .reducer = {.rank_state = rank_states_.back(),
                              .slice_assignment = {world_size, world_size},
                              .loss_scale = loss_scale,
                              .optimizer = [optimizer](std::int64_t) { return optimizer; }},
                  .others = {.coordinator = coordinator_}}));
    }
  }
  ~ShardRuntime() {
    for (const auto& shard_manager : shard_managers_)
      caf::anon_send_exit(shard_manager, caf::exit_reason::kill);
    caf::anon_send_exit(coordinator_, caf::exit_reason::kill);
  }

  /// Runs one step. All gradients are `value`, except that element `at` of `rank` is `bad`.
  void begin_step(std::int64_t step, float value, int rank = -1, std::size_t at = 0, float bad = 0,
                  double loss = 1, const std::vector<Span>& computing = {}) {
    for (const auto& rank_state : rank_states_) {
      REQUIRE(rank_state->communication->synchronize());
      auto* const gradients = rank_state->state->buffers().gradients(0);
      std::fill_n(gradients, units * per_unit, value);
      if (rank_state->rank == rank)
        gradients[at] = bad;
    }
    for (std::size_t i = 0; i < rank_states_.size(); ++i) {
      const auto event = rank_states_[i]->communication->record();
      for (UnitId unit = units - 1; unit >= 0; --unit)
        caf::anon_send(shard_managers_[i], atom::gradients_ready_v, Pass{step}, unit, event);
      caf::anon_send(shard_managers_[i], atom::done_v, WorkerStep{.step = step, .loss = loss},
                     SpansPtr{std::make_shared<const std::vector<Span>>(computing)});
    }
  }
  std::vector<StepReport> step(std::int64_t step, float value, int rank = -1, std::size_t at = 0,
                               float bad = 0) {
    begin_step(step, value, rank, at, bad);
    return reports_->take(rank_states_.size());
  }
  std::vector<StepReport> step_while_computing(std::int64_t step, const std::vector<Span>& spans) {
    begin_step(step, 1, -1, 0, 0, 1, spans);
    return reports_->take(rank_states_.size());
  }
  Error error() { return reports_->take_error(); }
  std::vector<double> failed_losses() { return reports_->failed_losses(); }

  std::vector<float> parameters(std::size_t rank) const {
    const auto* const first = rank_states_[rank]->state->buffers().parameters(0);
    return {first, first + units * per_unit};
  }

private:
  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  std::shared_ptr<Reports> reports_ = std::make_shared<Reports>();
  std::vector<std::shared_ptr<training::RankState>> rank_states_;
  coordinator_actor coordinator_;
  std::vector<shard_manager_actor> shard_managers_;
};

} // namespace

TEST_CASE("a value that is not finite on one rank makes all ranks skip the step") {
  const int world_size = GENERATE(2, 3, 4);
  const float bad = GENERATE(NAN, INFINITY, -INFINITY);
  const std::size_t at = GENERATE(0u, 7u);
  CAPTURE(world_size, bad, at);
  ShardRuntime runtime{world_size, {.initial = 1024, .interval = 2}};
  const auto start = runtime.parameters(0);

  for (const auto& report : runtime.step(0, 512, world_size - 1, at, bad)) {
    CHECK(report.loss_scaling.loss_scale == 512);
    CHECK(report.loss_scaling.skipped_steps == 1);
  }
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world_size); ++rank)
    CHECK(runtime.parameters(rank) == start);

  // The scale is now 512: this gradient is 1, in the optimizer's first step.
  for (const auto& report : runtime.step(1, 512))
    CHECK(report.loss_scaling.skipped_steps == 1);
  for (const auto& report : runtime.step(2, 512)) {
    CHECK(report.loss_scaling.loss_scale == 1024);
    CHECK(report.loss_scaling.skipped_steps == 1);
    CHECK(report.loss_scaling.scale_growths == 1);
  }
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world_size); ++rank) {
    const auto parameters = runtime.parameters(rank);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      CHECK(std::abs(parameters[i] - (start[i] - 0.5f * 1 - 0.5f * 1.5f)) < 1e-6f);
    CHECK(parameters == runtime.parameters(0));
  }
}

TEST_CASE("gradients of all ranks are averaged before clipping by value") {
  ShardRuntime runtime{2, {.initial = 4}, {.lr = 1, .clip_value = 2}};
  const auto start = runtime.parameters(0);
  // The scale is 4. One element of rank 1 is -40: the mean of 2 and -10 is -4, clipped to -2.
  runtime.step(0, 8, 1, 3, -40);
  const auto parameters = runtime.parameters(1);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    CHECK(parameters[i] == start[i] - (i == 3 ? -2.0f : 2.0f));
}

TEST_CASE("the optimizer's time is counted unless the rank computes meanwhile") {
  ShardRuntime runtime{2, {}};
  for (const auto& report : runtime.step(0, 1))
    CHECK(report.optimizer > 0ns);
  for (const auto& report : runtime.step_while_computing(1, {{0ns, 1h * 24 * 365 * 100}}))
    CHECK(report.optimizer == 0ns);
}

TEST_CASE("a loss that is not finite ends the run when the loss scale cannot fall any further") {
  ShardRuntime runtime{1, {.initial = 1}};
  runtime.begin_step(0, NAN, -1, 0, 0, NAN);
  const auto error = runtime.error();
  CHECK(error.code == Errc::numeric);
  CHECK(error.message == "the loss is nan, and the loss scale has fallen to 0.5");
  REQUIRE(runtime.failed_losses().size() == 1);
  CHECK(std::isnan(runtime.failed_losses().front()));
}
