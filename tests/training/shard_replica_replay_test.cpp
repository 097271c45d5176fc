// Tests shard replicas: the copy of a shard equals the shard, bit for bit, after each step; and a
// rank that has voted for a step but has not applied it can still apply it; tests/gpu compiles it
// for CUDA.
#include "collectives/communicator.hpp"
#include "core/config/config.hpp"
#include "tests/support/tested_device.hpp"
#include "training/platforms/platforms.hpp"
#include "training/reducer/reducer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <tuple>
#include <utility>

using namespace troupe;
using namespace troupe::training;

namespace {

constexpr int ranks = 3;
constexpr std::int64_t passes = 2;

/// Units of several parameters; some end within a shard.
StorageLayout uneven_units() {
  StorageLayout layout;
  for (const auto unit : {0, 1, 2}) {
    const std::string name(1, static_cast<char>('a' + unit));
    std::size_t offset = 0;
    for (const std::size_t elements : {40, 17, 91}) {
      layout.parameters.push_back({name + std::to_string(elements),
                                   {static_cast<std::int64_t>(elements)},
                                   unit,
                                   offset,
                                   elements,
                                   nullptr});
      offset += (elements + 15) / 16 * 16;
    }
    layout.unit_elements.push_back(offset);
    layout.unit_names.push_back(name);
  }
  return layout;
}

struct Case {
  const char* name;
  Strategy strategy;
  OptimizerArguments optimizer = {.momentum = 0.9f, .nesterov = true, .weight_decay = 1e-2f};
  std::optional<double> clip_norm = {};
  bool scales_loss = false;
  std::vector<nn::ParameterRate> rates = {};
};

Strategy dividing(Divided divided) {
  return {.world_size = ranks,
          .shards = ranks,
          .divides_optimizer = divided >= Divided::optimizer,
          .divides_gradients = divided >= Divided::gradients,
          .divides_parameters = divided >= Divided::parameters};
}

Strategy with(Strategy strategy, auto change) {
  change(strategy);
  return strategy;
}

const OptimizerArguments adam = {.kind = OptimizerKind::adam, .lr = 0.01f, .weight_decay = 1e-3f};
const OptimizerArguments adamw = {.kind = OptimizerKind::adamw, .lr = 0.01f, .weight_decay = 0.1f};

std::vector<Case> cases() {
  const auto zero1 = dividing(Divided::optimizer), zero2 = dividing(Divided::gradients),
             zero3 = dividing(Divided::parameters);
  const auto in_bf16 = [](auto& strategy) { strategy.reduced = DType::bf16; };
  const auto each_pass = [](auto& strategy) {
    strategy.communicates_once = false;
    strategy.reduced = DType::bf16;
  };
  const auto offloaded = [](auto& strategy) { strategy.offloaded = 0.6; };
  const auto all_offloaded = [](auto& strategy) {
    strategy.offloaded = 0.6;
    strategy.offloads_parameters = true;
  };
  return {
      {"zero1 by SGD", zero1},
      {"zero1 by Adam, clipped", zero1, adam, 0.5},
      {"zero2 by AdamW with rates", zero2, adamw, {}, false, {1, 0, 0.5, 1, 1, 0.1, 0, 0, 2}},
      {"zero3 by AdamW, clipped, with a loss scale", zero3, adamw, 0.5, true},
      {"zero1 by SGD with a loss scale", zero1, {.momentum = 0.9f}, {}, true},
      {"zero3, gradients in bf16", with(zero3, in_bf16)},
      {"zero2, gradients in bf16 after each pass", with(zero2, each_pass), adam},
      {"zero1, offloaded", with(zero1, offloaded), adam, 0.5, true},
      {"zero3, all offloaded", with(zero3, all_offloaded), adamw, 0.5},
  };
}

/// Returns gradients that are the same at each call and have no simple values. In one step an
/// element is not finite.
std::vector<float> made(int rank, std::int64_t pass, UnitId unit, std::size_t elements,
                        bool overflows) {
  std::mt19937 random{static_cast<unsigned>(rank + 16 * unit + 256 * pass)};
  std::normal_distribution<float> normal;
  std::vector<float> values(elements);
  std::ranges::generate(values, [&] { return normal(random); });
  if (overflows && pass / passes == 1 && rank == 1 && unit == 2)
    values[3] = INFINITY;
  return values;
}

/// A communicator whose rank makes its last vote but does not receive the result.
class DeafAtVote final : public collectives::Communicator {
public:
  DeafAtVote(std::shared_ptr<Communicator> group, std::shared_ptr<Device> device)
      : Communicator{group->rank(), group->world_size()}, group_{std::move(group)},
        device_{std::move(device)} {}
  void turn_deaf(const float* votes) { votes_ = votes; }
  void abort(const Error& reason) override { group_->abort(reason); }

private:
  void enqueue(Stream& stream, const collectives::Call& call) override {
    group_->run(stream, call);
    if (votes_ && call.kind == collectives::CallKind::all_reduce && call.values.data == votes_)
      device_->zero(stream, call.values.data, call.values.bytes());
  }

  std::shared_ptr<Communicator> group_;
  std::shared_ptr<Device> device_;
  const float* votes_ = nullptr;
};

class TrioRank {
public:
  TrioRank(const Case& of, int rank, const std::shared_ptr<Device>& device,
           std::shared_ptr<collectives::Communicator> group)
      : case_{of}, group_{std::make_shared<DeafAtVote>(std::move(group), device)} {
    rank_state_->rank = rank;
    rank_state_->compiled = std::make_shared<CompiledWorker>(CompiledWorker{.device = device});
    rank_state_->compute = rank_state_->device().create_stream({.name = "compute"});
    rank_state_->communication = rank_state_->device().create_stream({.name = "communication"});
    if (of.strategy.offloads()) {
      REQUIRE(add_updater(*rank_state_->compiled, 1));
      add_host_streams(*rank_state_, 1);
    }
    std::optional<LossScaleOptions> scale;
    if (of.scales_loss)
      scale = {.initial = 4, .interval = 2};
    rank_state_->state = ModelState::create(rank_state_->device(), uneven_units(),
                                            {.optimizer_slots = optimizer_slot_names(of.optimizer),
                                             .accumulate = true,
                                             .loss_scale = scale,
                                             .strategy = of.strategy,
                                             .rank = rank,
                                             .buckets = {{2, 2}, {0, 1}},
                                             .rates = of.rates,
                                             .prepares = true,
                                             .replica_rank_of = (rank + ranks - 1) % ranks})
                             .value();
    rank_state_->world = rank_state_->shard_group = group_;
    rank_state_->replicate_group =
        collectives::make_single_rank_communicator(rank_state_->compiled->device);
    load();
    setup_ = {.rank_state = rank_state_,
              .slice_assignment = {static_cast<int>(ranks * passes), ranks},
              .votes = true,
              .replica_distance = 1,
              .clip_norm = of.clip_norm,
              .loss_scale = scale,
              .optimizer = [taken = of.optimizer](std::int64_t step) {
                auto arguments = taken;
                arguments.step = step + 1;
                return arguments;
              }};
    reducer_.emplace(setup_);
  }

  void step(std::int64_t step) {
    done_.plan = reducer_->step_plan(step);
    for (auto pass = step * passes; pass < (step + 1) * passes; ++pass)
      for (const auto& bucket : reducer_->plan().buckets)
        backward(bucket, pass);
    reducer_->finish_step(&found_, done_);
  }
  void publish() { reducer_->publish_rest(done_); }
  /// Waits for the step. The host's optimizer is waited for either at a publication or here.
  Status end() {
    const auto ended = reducer_->last_stream().synchronize();
    const auto updated = rank_state_->updates ? rank_state_->updates->synchronize() : Status{};
    return ended ? updated : ended;
  }
  void turn_deaf() { group_->turn_deaf(&state().scratch()->votes); }
  /// Overwrites the gradients, as work after a failed step does on CUDA.
  void spoil_gradients() {
    auto& device = rank_state_->device();
    auto& stream = *rank_state_->communication;
    for (const auto& bucket : reducer_->plan().buckets) {
      const auto bytes = state().layout().part(bucket).elements * sizeof(float);
      device.zero(stream, state().buffers().part().gradients(bucket), bytes);
      device.zero(stream, state().shard_replica()->gradients(bucket), bytes);
    }
    device.zero(stream, &state().scratch()->clip_factor, sizeof(float));
  }
  /// Makes the step's plan again, as a salvage does.
  Status roll_forward(std::int64_t step) {
    return ShardOptimizer{setup_}.roll_forward(setup_.arguments(setup_.step_plan(step)));
  }

  std::int64_t steps() const { return read(&state().scratch()->steps); }
  std::int64_t prepared_steps() const { return read(&state().scratch()->prepared_steps); }
  LossScaleState loss_scale() const { return read(state().loss_scale()); }
  const ModelState& state() const { return *rank_state_->state; }
  const StepWork& done() const { return done_; }

  std::vector<float> shard() const { return values(state().buffers().part()); }
  std::vector<float> copy() const { return values(*state().shard_replica()); }

private:
  void load() {
    std::vector<std::vector<float>> values;
    Checkpoint start;
    for (const auto& slot : uneven_units().parameters)
      values.push_back(
          made(100, slot.unit, static_cast<UnitId>(slot.offset), slot.elements, false));
    for (const auto& slot : uneven_units().parameters)
      start.tensors.push_back({slot.name, slot.shape, values[start.tensors.size()]});
    REQUIRE(rank_state_->state->load(*rank_state_->compute, *state_in_memory(start)));
  }

  void backward(const Bucket& bucket, std::int64_t pass) {
    for (auto unit = bucket.units.last; unit >= bucket.units.first; --unit) {
      const auto fresh = gradients(unit, pass);
      rank_state_->device().copy(*rank_state_->communication, state().buffers().gradients(unit),
                                 fresh->data(), fresh->bytes());
      reducer_->accumulate(unit, pass, done_.plan);
    }
    reducer_->finish_bucket(bucket, pass, done_);
  }

  /// Returns gradients in device memory, which live as long as this object.
  BufferPtr gradients(UnitId unit, std::int64_t pass) {
    const auto elements = state().layout().storage().unit_elements[static_cast<std::size_t>(unit)];
    const auto values = made(rank_state_->rank, pass, unit, elements, case_.scales_loss);
    auto& device = rank_state_->device();
    made_.push_back(device.allocate(elements * sizeof(float), MemoryKind::workspace).value());
    device.copy(*rank_state_->compute, made_.back()->data(), values.data(), made_.back()->bytes());
    REQUIRE(rank_state_->compute->synchronize());
    return made_.back();
  }

  template <class Value>
  Value read(const Value* from) const {
    const auto stream = rank_state_->device().create_stream({.name = "reading"});
    Value value{};
    rank_state_->device().copy(*stream, &value, from, sizeof value);
    REQUIRE(stream->synchronize());
    return value;
  }

  std::vector<float> values(const OptimizerPart& part) const {
    const auto plan = state().layout().plan_shard(part.shard());
    std::vector<float> all(plan.elements());
    const auto stream = rank_state_->device().create_stream({.name = "reading"});
    float* to = all.data();
    for (const auto& chunk : plan) {
      StateCopier{state(), *stream}.copy(chunk, part.memory(chunk.array, chunk.bucket), to);
      to += chunk.elements;
    }
    REQUIRE(stream->synchronize());
    return all;
  }

  Case case_;
  std::vector<BufferPtr> made_;
  std::shared_ptr<DeafAtVote> group_;
  std::shared_ptr<RankState> rank_state_ = std::make_shared<RankState>();
  GradientReducerSetup setup_;
  std::optional<GradientReducer> reducer_;
  StepWork done_;
  StepResults found_;
};

Config tested_devices() {
  Config config;
  config.devices.kind = testing::tested_kind;
  config.devices.count = ranks;
  config.devices.threads_per_worker = 1;
  return config;
}

struct Trio {
  explicit Trio(const Case& of) {
    std::vector<std::shared_ptr<Device>> of_ranks;
    std::vector<GroupMember> members;
    for (int rank = 0; rank < ranks; ++rank) {
      of_ranks.push_back(devices->add().value());
      members.push_back({.worker = rank, .rank = rank});
    }
    constexpr std::chrono::seconds time_limit{30};
    auto group = devices
                     ->make_group(members, {.name = "trio",
                                            .world_size = ranks,
                                            .collective = time_limit,
                                            .connect = time_limit})
                     .value();
    for (std::size_t rank = 0; rank < ranks; ++rank)
      all.push_back(std::make_unique<TrioRank>(of, static_cast<int>(rank), of_ranks[rank],
                                               std::move(group[rank])));
  }

  /// Runs steps that all ranks apply.
  void train(std::int64_t first, std::int64_t end) {
    for (auto step = first; step < end; ++step) {
      for (const auto& rank : all) {
        rank->step(step);
        rank->publish();
      }
      for (const auto& rank : all) // the next forward pass would wait, but no rank runs one here
        REQUIRE(rank->end());
    }
  }
  TrioRank& owner_of(std::size_t rank) { return *all[(rank + ranks - 1) % ranks]; }

  std::unique_ptr<PlatformDevices> devices =
      platform_of(tested_devices().devices).make_devices(tested_devices(), {});
  std::vector<std::unique_ptr<TrioRank>> all;
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(std::as_bytes(std::span{a}), std::as_bytes(std::span{b}));
}

bool all_finite(const std::vector<float>& values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

} // namespace

TEST_CASE("a shard replica equals its owner's shard after each step") {
  testing::need_device();
  const auto of = GENERATE(from_range(cases()));
  INFO(of.name);
  Trio trio{of};
  auto before = trio.all[0]->copy();
  for (std::int64_t step = 0; step < 4; ++step) {
    trio.train(step, step + 1);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      CAPTURE(step, rank);
      const auto copy = trio.all[rank]->copy();
      CHECK(all_finite(copy));
      CHECK(same_bits(copy, trio.owner_of(rank).shard()));
    }
    const bool skipped = of.scales_loss && step == 1;
    CHECK(same_bits(std::exchange(before, trio.all[0]->copy()), trio.all[0]->copy()) == skipped);
    CHECK(trio.all[0]->steps() == step + 1);
  }
}

TEST_CASE("a rank that prepared a step applied by others can apply it too") {
  testing::need_device();
  const auto of = GENERATE(from_range(cases()));
  const std::size_t deaf = GENERATE(0U, 2U);
  const std::int64_t last = GENERATE(0, 1, 3);
  INFO(of.name);
  CAPTURE(deaf, last);
  Trio trio{of};
  trio.train(0, last);
  auto& rank = *trio.all[deaf];
  const auto shard = rank.shard(), copy = rank.copy();
  rank.turn_deaf();
  for (const auto& each : trio.all)
    each->step(last);
  rank.spoil_gradients();
  for (const auto& each : trio.all)
    std::ignore =
        each->end(); // waits for the host's optimizer: the stream of the deaf rank has failed
  CHECK(trio.owner_of(deaf).steps() == last + 1);
  CHECK(rank.steps() == last);
  CHECK(rank.prepared_steps() == last + 1);
  CHECK(same_bits(rank.shard(), shard));
  CHECK(same_bits(rank.copy(), copy));

  REQUIRE(rank.roll_forward(last));
  CHECK(same_bits(rank.copy(), trio.owner_of(deaf).shard()));
  CHECK(same_bits(rank.shard(), trio.all[(deaf + 1) % ranks]->copy()));
  if (of.scales_loss)
    CHECK(rank.loss_scale() == trio.owner_of(deaf).loss_scale());
}

TEST_CASE("a step sends a rank's shard of the gradients once more, in the type of the reduction") {
  testing::need_device();
  const auto of = GENERATE(from_range(cases()));
  INFO(of.name);
  Trio trio{of};
  trio.train(0, 1);
  const bool adds = of.strategy.sums_shards();
  const auto type = adds ? DType::f32 : of.strategy.reduced;
  for (const auto& rank : trio.all) {
    std::uint64_t sent = 0;
    for (const auto& collective : rank->done().done)
      if (collective.kind == metrics::CollectiveKind::shard_replica)
        sent += collective.bytes;
    CHECK(sent == rank->state().layout().plan().elements / ranks * size_of(type));
  }
}
