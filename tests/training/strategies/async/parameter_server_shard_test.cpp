// Tests the parameters that a parameter server shard gives to readers, published and predicted.
#include "core/config/config.hpp"
#include "cpu/host_device.hpp"
#include "tests/training/three_units.hpp"
#include "training/strategies/async/parameter_server_shard.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <future>

using namespace troupe;
using namespace troupe::training;

namespace {

/// Rank 0 of two, which trains by SGD of rate 1 and momentum 0.5 from parameters of 8; a step has
/// two slices.
class Owner {
public:
  explicit Owner(const AsyncConfig& config) {
    rank_state_->compiled =
        std::make_shared<CompiledWorker>(CompiledWorker{.device = cpu::make_host_device(0, 1)});
    rank_state_->communication = rank_state_->device().create_stream({.name = "communication"});
    rank_state_->owner = rank_state_->device().create_stream({.name = "owner"});
    rank_state_->state =
        ModelState::create(
            rank_state_->device(), test::three_units(),
            {.optimizer_slots = {"momentum"},
             .strategy = strategy_of({.strategy = StrategyKind::async, .async = config}, 2),
             .buckets = wrap_by_size(test::three_units().unit_elements, 1)})
            .value();
    Checkpoint start;
    const std::vector<float> values(test::unit_elements, 8);
    for (const auto* const unit : {"a", "b", "c"})
      start.tensors.push_back({unit, {test::unit_elements}, values});
    REQUIRE(rank_state_->state->load(*rank_state_->communication, *state_in_memory(start)));
    owner_ = ParameterServerShard::create(
                 {.rank_state = rank_state_,
                  .slice_assignment = data::SliceAssignment::on_demand(2, 2),
                  .optimizer =
                      [](std::int64_t step) {
                        return OptimizerArguments{.lr = 1, .momentum = 0.5f, .step = step + 1};
                      }})
                 .value();
  }

  /// Adds gradients of a slice, all with this value.
  void add(Version step, int slice, float gradient) {
    for (std::size_t bucket = 0; bucket < rank_state_->state->layout().plan().buckets.size();
         ++bucket)
      add(step, slice, bucket, gradient);
  }
  void add(Version step, int slice, std::size_t bucket, float gradient) {
    const auto& plan = rank_state_->state->layout().plan();
    const auto elements = plan.shard_elements(plan.buckets[bucket]);
    auto message =
        Gradients{.step = step, .slice = slice, .bucket = bucket, .read = owner_->published()}
            .to_message();
    message.bytes = elements * sizeof(float);
    message.values =
        rank_state_->device().allocate(message.bytes, MemoryKind::communication).value();
    std::fill_n(message.values->floats(), elements, gradient);
    owner_->add(std::make_shared<const collectives::Message>(std::move(message)));
  }
  /// Enqueues the next step, whose gradients have all arrived.
  void apply() {
    REQUIRE(owner_->is_whole());
    owner_->take();
    const auto found = std::make_shared<StepResults>();
    owner_->prepare(found.get());
    REQUIRE(owner_->apply(found));
  }
  void begin_step(float gradient) {
    add(owner_->version(), 0, gradient);
    add(owner_->version(), 1, gradient);
    apply();
  }
  void settle() { owner_->settle(); }
  void step(float gradient) {
    begin_step(gradient);
    REQUIRE(stream().synchronize());
    settle();
  }
  Stream& stream() const { return owner_->stream(); }
  BufferPtr parameters(const ParameterVersion& at) const { return owner_->parameters(at).value(); }
  /// Allocates and overwrites as many buffers of a shard as may have been freed.
  void write_to_free_memory() {
    const auto elements = rank_state_->state->layout().plan().shard_elements();
    for (int i = 0; i < 8; ++i) {
      others_.push_back(rank_state_->device()
                            .allocate(elements * sizeof(float), MemoryKind::communication)
                            .value());
      std::fill_n(others_.back()->floats(), elements, 77.0f);
    }
  }
  ParameterVersion version_for(Version step) const { return owner_->version_for(step); }
  /// Returns the common value of all parameters that a slice of a step reads.
  float read_for(Version step) const {
    const auto values = parameters(version_for(step));
    REQUIRE(stream().synchronize());
    const auto elements = rank_state_->state->layout().plan().shard_elements();
    CHECK(std::all_of(values->floats(), values->floats() + elements,
                      [&](float v) { return v == values->floats()[0]; }));
    return values->floats()[0];
  }

  /// Returns the common value of a bucket's parameters that a slice of a step reads.
  float read_for(Version step, std::size_t bucket) const {
    const auto values = parameters(version_for(step));
    REQUIRE(stream().synchronize());
    const auto& plan = rank_state_->state->layout().plan();
    return values->floats()[plan.shard_offset(plan.buckets[bucket])];
  }
  std::int64_t buckets() const { return std::ssize(rank_state_->state->layout().plan().buckets); }

private:
  std::shared_ptr<RankState> rank_state_ = std::make_shared<RankState>();
  std::shared_ptr<ParameterServerShard> owner_;
  std::vector<BufferPtr> others_;
};

} // namespace

TEST_CASE("without weight prediction stale parameters are read as they are") {
  Owner owner{{.staleness = 3}};
  owner.step(2);
  for (const Version step : {1, 2, 4}) {
    CHECK(owner.version_for(step) == ParameterVersion{.version = 1});
    CHECK(owner.read_for(step) == 6);
  }
}

TEST_CASE("without gradients of a step, its update is predicted from the momentum") {
  Owner owner{{.staleness = 3, .prediction = true}};
  CHECK(owner.version_for(2) == ParameterVersion{.version = 0, .predicted = 2});
  CHECK(owner.read_for(2) == 8);
  owner.step(2);
  CHECK(owner.version_for(4) == ParameterVersion{.version = 1, .predicted = 3});
  CHECK(owner.read_for(4) ==
        4.25f); // it has fallen by 2, and is predicted to fall by 1, 0.5 and 0.25
  CHECK(owner.read_for(1) == 6);
  CHECK(owner.read_for(2) == 5);
  CHECK(owner.read_for(3) == 4.5f);
}

TEST_CASE("a step's update is predicted from the gradients that have arrived") {
  Owner owner{{.staleness = 3, .prediction = true}};
  owner.step(2);
  owner.add(1, 0, 1);
  CHECK(owner.version_for(3) ==
        ParameterVersion{.version = 1, .predicted = 2, .arrived = owner.buckets()});
  CHECK(owner.read_for(2) == 4); // falls by 0.5 * 2 + 1
  CHECK(owner.read_for(3) == 3);
  owner.add(2, 1, 4); // a gradient of the following step
  CHECK(owner.version_for(2) ==
        ParameterVersion{.version = 1, .predicted = 1, .arrived = owner.buckets()});
  CHECK(owner.read_for(3) == -1);
  owner.add(1, 1, 3);
  CHECK(owner.version_for(3) ==
        ParameterVersion{.version = 1, .predicted = 2, .arrived = 3 * owner.buckets()});
  CHECK(owner.read_for(2) == 3);
  owner.apply();
  CHECK(owner.version_for(3) ==
        ParameterVersion{.version = 1, .predicted = 2, .arrived = 3 * owner.buckets()});
  CHECK(owner.read_for(2) == 3); // published, not predicted
  CHECK(owner.read_for(3) == -2.5f);
  owner.settle();
  CHECK(owner.version_for(3) ==
        ParameterVersion{.version = 2, .predicted = 1, .arrived = owner.buckets()});
  CHECK(owner.read_for(3) == -2.5f);
  CHECK(owner.read_for(2) == 3);
}

TEST_CASE("each bucket's update is predicted from its own gradients") {
  Owner owner{{.staleness = 3, .prediction = true}};
  REQUIRE(owner.buckets() == 3);
  owner.step(2);
  owner.add(1, 0, 1, 1);
  CHECK(owner.read_for(2, 0) == 5);
  CHECK(owner.read_for(2, 1) == 4);
  owner.add(1, 0, 0, 1);
  owner.add(1, 1, 1, 1);
  owner.add(1, 1, 0, 1);
  for (const int slice : {0, 1})
    owner.add(1, slice, 2, 1);
  owner.apply(); // the prediction has not changed the real state
  owner.settle();
  CHECK(owner.read_for(2) == 4);
}

TEST_CASE("a version that exists needs no prediction") {
  Owner owner{{.staleness = 3, .prediction = true}};
  owner.step(2);
  CHECK(owner.version_for(0) == ParameterVersion{.version = 1});
  CHECK(owner.read_for(0) == 6);
}

TEST_CASE("predicted parameters stay valid until they are read") {
  Owner owner{{.staleness = 3, .prediction = true}};
  owner.step(2);
  std::promise<void> may_go_on;
  owner.stream().on_complete(
      [waited = may_go_on.get_future().share()](const Status&) { waited.wait(); });
  const auto foreseen = owner.parameters(owner.version_for(3));
  owner.begin_step(1);
  owner.settle();
  owner.write_to_free_memory();
  may_go_on.set_value();
  REQUIRE(owner.stream().synchronize());
  CHECK(foreseen->floats()[0] == 4.5f);
}
