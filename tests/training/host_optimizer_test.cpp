// Tests the work that a rank enqueues when its state is in host memory: its order, and the events
// that it waits for.
#include "collectives/communicator.hpp"
#include "cpu/host_device.hpp"
#include "tests/training/three_units.hpp"
#include "training/reducer/reducer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>

using namespace troupe;
using namespace troupe::training;
using namespace troupe::training::test;

namespace {

/// A single rank with one bucket per unit; SGD with momentum 0.5 and rate 1, all parameters 10.
class Rank {
public:
  explicit Rank(const Strategy& strategy, std::optional<double> clip_norm = {}) {
    rank_state_->compiled =
        std::make_shared<CompiledWorker>(CompiledWorker{.device = cpu::make_host_device(0, 1)});
    rank_state_->compute = rank_state_->device().create_stream({.name = "compute"});
    rank_state_->communication = rank_state_->device().create_stream({.name = "communication"});
    REQUIRE(add_updater(*rank_state_->compiled, 1));
    add_host_streams(*rank_state_, 1);
    rank_state_->state = ModelState::create(rank_state_->device(), three_units(),
                                            {.optimizer_slots = {"momentum"},
                                             .strategy = strategy,
                                             .buckets = {{2, 2}, {1, 1}, {0, 0}},
                                             .snapshots = true})
                             .value();
    rank_state_->world = rank_state_->shard_group = rank_state_->replicate_group =
        collectives::make_single_rank_communicator(rank_state_->compiled->device);
    const std::vector<float> values(unit_elements, 10);
    Checkpoint start;
    for (const auto& slot : three_units().parameters)
      start.tensors.push_back({slot.name, slot.shape, values});
    REQUIRE(rank_state_->state->load(*rank_state_->compute, *state_in_memory(start)));
    reducer_.emplace(GradientReducerSetup{
        .rank_state = rank_state_, .clip_norm = clip_norm, .optimizer = [](std::int64_t step) {
          return OptimizerArguments{.lr = 1, .momentum = 0.5f, .step = step + 1};
        }});
  }

  /// Acts as a shard manager when the bucket's gradients are announced; they are 1 at the event
  /// `ready`.
  void finish_bucket(std::size_t index, const EventPtr& ready) {
    const auto& bucket = reducer_->plan().buckets[index];
    rank_state_->communication->wait(ready);
    cpu::host_stream(*rank_state_->communication).enqueue([this, bucket]() -> Status {
      std::fill_n(rank_state_->state->buffers().gradients(bucket), unit_elements, 1.0f);
      return {};
    });
    done_.plan = reducer_->step_plan(0);
    reducer_->finish_bucket(bucket, 0, done_);
  }
  Status finish_step() {
    StepResults found;
    reducer_->finish_step(&found, done_);
    reducer_->publish_rest(done_);
    return reducer_->last_stream().synchronize();
  }
  EventPtr reached() const { return rank_state_->compute->record(); }
  RankState& rank_state() { return *rank_state_; }
  const Bucket& bucket(std::size_t index) const { return reducer_->plan().buckets[index]; }
  const ModelState& state() const { return *rank_state_->state; }
  GradientReducer& reducer() { return *reducer_; }

private:
  std::shared_ptr<RankState> rank_state_ = std::make_shared<RankState>();
  std::optional<GradientReducer> reducer_;
  StepWork done_;
};

bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 10'000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  return condition();
}

} // namespace

TEST_CASE("the host updates a bucket while backward of the others continues") {
  Rank rank{{.offloaded = 1}};
  const auto backward_ends = std::make_shared<cpu::HostEvent>();
  rank.finish_bucket(0, rank.reached());
  const auto updated = rank.rank_state().updates->record();
  rank.finish_bucket(1, backward_ends);
  rank.finish_bucket(2, backward_ends);
  REQUIRE(comes_true([&] { return updated->ready(); }));
  const auto* const there =
      rank.state().buffers().part().host_chunk(rank.bucket(0)).host.parameters;
  CHECK(all_are(there, 9));
  // Forward and backward of the step may still read the device's parameters.
  CHECK(all_are(rank.state().buffers().parameters(2), 10));
  CHECK(all_are(rank.state().buffers().part().host_chunk(rank.bucket(1)).host.parameters, 10));

  backward_ends->reach({});
  REQUIRE(rank.finish_step());
  for (UnitId unit = 0; unit < 3; ++unit)
    CHECK(all_are(rank.state().buffers().parameters(unit), 9));
}

TEST_CASE("if an update needs all gradients, they are copied early and wait on the host") {
  Rank rank{{.offloaded = 1}, 1e-3};
  const auto backward_ends = std::make_shared<cpu::HostEvent>();
  rank.finish_bucket(0, rank.reached());
  const auto fetched = rank.rank_state().copies->record();
  rank.finish_bucket(1, backward_ends);
  rank.finish_bucket(2, backward_ends);
  REQUIRE(comes_true([&] { return fetched->ready(); }));
  const auto there = rank.state().buffers().part().host_chunk(rank.bucket(0)).host;
  CHECK(all_are(there.gradients, 1));
  REQUIRE(rank.rank_state().updates->synchronize());
  CHECK(all_are(there.parameters, 10));

  backward_ends->reach({});
  REQUIRE(rank.finish_step());
  const auto factor = clip_factor(3 * unit_elements, 1e-3f);
  for (UnitId unit = 0; unit < 3; ++unit)
    CHECK(all_are(rank.state().buffers().parameters(unit), 10 - factor));
}

TEST_CASE("a ratio leaves the front on the device, and both parts are one state") {
  // 72 elements stay on the device, 64 in whole vectors: unit a, and a third of b.
  const bool parameters = GENERATE(false, true);
  CAPTURE(parameters);
  Rank rank{{.divides_optimizer = parameters,
             .divides_gradients = parameters,
             .divides_parameters = parameters,
             .offloaded = 0.5,
             .offloads_parameters = parameters}};
  const auto& state = rank.state();
  CHECK(state.buffers().part().kept_chunk(rank.bucket(2)).elements == unit_elements);
  CHECK(state.buffers().part().kept_chunk(rank.bucket(1)).elements == 16);
  CHECK(state.buffers().part().kept_chunk(rank.bucket(0)).elements == 0);
  CHECK(state.buffers().part().host_chunk(rank.bucket(2)).host.elements == 0);
  CHECK(state.buffers().part().host_chunk(rank.bucket(1)).host.elements == 32);
  CHECK(state.buffers().part().host_chunk(rank.bucket(0)).host.elements == unit_elements);
  CHECK((state.buffers().part().host_chunk(rank.bucket(0)).parameters == nullptr) == parameters);

  for (const std::size_t bucket : {0, 1, 2})
    rank.finish_bucket(bucket, rank.reached());
  REQUIRE(rank.finish_step());
  const auto snapshot = state.begin_snapshot(1);
  REQUIRE(snapshot);
  rank.reducer().copier().take(snapshot->get());
  REQUIRE(rank.rank_state().communication->synchronize());
  const auto& plan = state.layout().whole();
  CHECK(plan.elements() == 2 * 3 * unit_elements);
  for (std::size_t index = 0; index < plan.size(); ++index) {
    StateChunk chunk;
    rank.reducer().copier().gather(index, &chunk);
    REQUIRE(rank.rank_state().communication->synchronize());
    const bool of_parameters = plan[index].array == parameters_array;
    const std::vector<float> expected(plan[index].elements, of_parameters ? 9.0f : 1.0f);
    CHECK(chunk.values == expected);
    CHECK(std::ranges::equal(std::span{(*snapshot)->values(index), expected.size()}, expected));
  }
  StepWork of_no_step;
  rank.reducer().gather(rank.bucket(1), of_no_step);
  REQUIRE(rank.rank_state().communication->synchronize());
  CHECK(all_are(state.buffers().parameters(rank.bucket(1)), 9));
}
