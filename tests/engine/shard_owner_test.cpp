// What the owner of a shard gives to who reads it, published and predicted.
#include "three_units.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/cpu/host_device.hpp"
#include "troupe/engine/asynchronous/shard_owner.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <future>

using namespace troupe;
using namespace troupe::engine;

namespace {

/// Rank 0 of two, which trains by SGD of rate 1 and momentum 0.5 from parameters of 8.
class Owner {
public:
  explicit Owner(const OwnerOptions& options) {
    replica_->equipment =
        std::make_shared<Equipment>(Equipment{.device = cpu::make_host_device(0, 1)});
    replica_->communication = replica_->device().create_stream({.name = "communication"});
    replica_->owner = replica_->device().create_stream({.name = "owner"});
    replica_->state =
        ModelState::create(
            replica_->device(), test::three_units(),
            {.optimizer_slots = {"momentum"},
             .strategy = collectives::strategy_of(
                 {.strategy = StrategyKind::async, .stale = {.staleness = options.staleness}}, 2)})
            .value();
    Checkpoint start;
    const std::vector<float> values(test::unit_elements, 8);
    for (const auto* const unit : {"a", "b", "c"})
      start.tensors.push_back({unit, {test::unit_elements}, values});
    REQUIRE(replica_->state->load(*replica_->communication, *state_in_memory(start)));
    owner_ = ShardOwner::create({.replica = replica_,
                                 .dealing = data::Dealing::leased(1, 2),
                                 .optimizer =
                                     [](std::int64_t step) {
                                       return OptimizerArguments{
                                           .lr = 1, .momentum = 0.5f, .step = step + 1};
                                     }},
                                options)
                 .value();
  }

  /// Enqueues the next step, all of whose gradients are this.
  void begin_step(float gradient) {
    const auto& plan = replica_->state->plan();
    for (std::size_t bucket = 0; bucket < plan.buckets.size(); ++bucket)
      add(bucket, plan.shard_elements(plan.buckets[bucket]), gradient);
    REQUIRE(owner_->is_whole());
    owner_->take();
    const auto found = std::make_shared<StepFindings>();
    owner_->prepare(found.get());
    REQUIRE(owner_->apply(found));
  }
  void settle() { owner_->settle(); }
  void step(float gradient) {
    begin_step(gradient);
    REQUIRE(stream().synchronize());
    settle();
  }
  Stream& stream() const { return owner_->stream(); }
  BufferPtr parameters(const Point& at) const { return owner_->parameters(at).value(); }
  /// Memory of as many buffers of a shard as may have been given back is another's.
  void write_to_free_memory() {
    const auto elements = replica_->state->plan().shard_elements();
    for (int i = 0; i < 8; ++i) {
      others_.push_back(
          replica_->device().allocate(elements * sizeof(float), MemoryKind::communication).value());
      std::fill_n(others_.back()->floats(), elements, 77.0f);
    }
  }
  Point point_for(Version step) const { return owner_->point_for(step); }
  /// What all parameters are that a slice of a step is computed with.
  float read_for(Version step) const {
    const auto values = parameters(point_for(step));
    REQUIRE(stream().synchronize());
    const auto elements = replica_->state->plan().shard_elements();
    CHECK(std::all_of(values->floats(), values->floats() + elements,
                      [&](float v) { return v == values->floats()[0]; }));
    return values->floats()[0];
  }

private:
  void add(std::size_t bucket, std::size_t elements, float gradient) {
    auto mail =
        Gradients{.step = owner_->version(), .bucket = bucket, .read = owner_->version()}.to_mail();
    mail.bytes = elements * sizeof(float);
    mail.values = replica_->device().allocate(mail.bytes, MemoryKind::communication).value();
    std::fill_n(mail.values->floats(), elements, gradient);
    owner_->add(std::make_shared<const collectives::Mail>(std::move(mail)));
  }

  std::shared_ptr<Replica> replica_ = std::make_shared<Replica>();
  std::shared_ptr<ShardOwner> owner_;
  std::vector<BufferPtr> others_;
};

} // namespace

TEST_CASE("parameters that lack steps are read as they are, where nothing is predicted") {
  Owner owner{{.staleness = 3}};
  owner.step(2);
  for (const Version step : {1, 2, 4}) {
    CHECK(owner.point_for(step) == Point{.version = 1});
    CHECK(owner.read_for(step) == 6);
  }
}

TEST_CASE("parameters that lack steps are read as if each changed them as the last one did") {
  Owner owner{{.staleness = 3, .predicts = true}};
  CHECK(owner.point_for(2) == Point{.version = 0}); // no step has changed anything
  CHECK(owner.read_for(2) == 8);
  owner.step(2);
  CHECK(owner.point_for(4) == Point{.version = 1, .predicted = 3});
  CHECK(owner.read_for(4) == 0);
  CHECK(owner.read_for(1) == 6);
  CHECK(owner.read_for(2) == 4);
  owner.step(1); // the velocity is 2
  CHECK(owner.read_for(2) == 4);
  CHECK(owner.read_for(3) == 2);
  owner.step(-1); // and now 0
  CHECK(owner.point_for(5) == Point{.version = 3, .predicted = 2});
  CHECK(owner.read_for(3) == 4);
  CHECK(owner.read_for(5) == 4);
}

TEST_CASE("a step that is made already needs no prediction") {
  Owner owner{{.staleness = 3, .predicts = true}};
  owner.step(2);
  CHECK(owner.point_for(0) == Point{.version = 1});
  CHECK(owner.read_for(0) == 6);
}

TEST_CASE(
    "what parameters are predicted from lives until they are, whatever is published meanwhile") {
  Owner owner{{.staleness = 3, .predicts = true}};
  owner.step(2);
  std::promise<void> may_go_on;
  owner.stream().on_complete(
      [waited = may_go_on.get_future().share()](const Status&) { waited.wait(); });
  const auto predicted = owner.parameters({.version = 1, .predicted = 2});
  owner.begin_step(1);
  owner.settle();
  owner.write_to_free_memory();
  may_go_on.set_value();
  REQUIRE(owner.stream().synchronize());
  CHECK(predicted->floats()[0] == 2);
}
