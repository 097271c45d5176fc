// Salvages a node's shards of a generation's sharded state.
#include "training/salvage_shards.hpp"

#include "core/fail.hpp"
#include "training/reducer/shard_optimizer.hpp"
#include "training/state/state_copier.hpp"

#include <algorithm>
#include <map>

namespace troupe::training {

namespace {

/// Reads the shards of this node's ranks, one rank after another.
class ShardSalvage {
public:
  explicit ShardSalvage(const Generation& generation) : generation_{generation} {}

  Result<RetainedStates> run() {
    for (const auto& rank_state : generation_.rank_states)
      TROUPE_TRY(take(rank_state));
    RetainedStates retained;
    for (auto& [step, state] : by_step_)
      retained.push_back(std::make_shared<const RetainedState>(std::move(state)));
    add_those_before(retained);
    return retained;
  }

private:
  /// Adds the states that the generation started with: until a step is committed, other nodes may
  /// have only those.
  void add_those_before(RetainedStates& retained) const {
    const auto& before = generation_.rank_states.front()->before;
    if (!before)
      return;
    for (const auto& state : *before)
      if (!find_retained(retained, state->shards.step, state->shards.shards))
        retained.push_back(state);
  }

  Status take(const std::shared_ptr<RankState>& rank_state) {
    const auto stream = rank_state->device().create_stream({.name = "leaving"});
    TROUPE_TRY(const auto steps, rank_state->state->read_steps(*stream));
    TROUPE_TRY(take(*rank_state, steps.applied, true));
    if (steps.prepared <= steps.applied)
      return {};
    const auto setup = generation_.reducer(rank_state);
    TROUPE_TRY(ShardOptimizer{setup}.roll_forward(setup.arguments(setup.step_plan(steps.applied))));
    return take(*rank_state, steps.prepared, false);
  }

  /// Copies the rank's shards as the state of step `step`. Uses a new stream, because a failed
  /// stream runs nothing.
  Status take(const RankState& rank_state, std::int64_t step, bool applied) {
    const auto& state = *rank_state.state;
    const auto stream = rank_state.device().create_stream({.name = "leaving"});
    auto& retained = by_step_[step];
    if (retained.shards.step < 0)
      TROUPE_TRY(begin(retained, rank_state, *stream, step));
    retained.shards.applied = retained.shards.applied || applied;
    for (const auto* const part : state.parts())
      TROUPE_TRY(take_shard(retained, state, *stream, *part));
    return {};
  }

  Status begin(RetainedState& retained, const RankState& rank_state, Stream& stream,
               std::int64_t step) {
    const auto& state = *rank_state.state;
    retained.shards = {.step = step, .applied = false, .shards = state.layout().strategy().shards};
    std::optional<LossScaleState> loss_scale;
    state.copy_loss_scale(stream, loss_scale);
    TROUPE_TRY(stream.synchronize());
    retained.header = state.layout().describe(loss_scale);
    retained.header.tensors.clear();
    retained.header.step = step;
    retained.header.epoch = generation_.job().plan.epoch_of(step);
    return take_statistics(retained, rank_state, stream);
  }

  static Status take_statistics(RetainedState& retained, const RankState& rank_state,
                                Stream& stream) {
    const auto& state = *rank_state.state;
    const auto& statistics = state.statistics();
    const auto elements = statistics.elements();
    if (elements == 0)
      return {};
    const float* const from =
        statistics.commits() ? statistics.committed(retained.shards.step - 1) : statistics.values();
    const std::shared_ptr<float[]> values{new float[elements]};
    rank_state.device().copy(stream, values.get(), from, elements * sizeof(float));
    TROUPE_TRY(stream.synchronize());
    for (const auto& slot : state.layout().storage().statistics)
      retained.parts.push_back({{.what = {.name = slot.name,
                                          .shape = slot.shape,
                                          .stored = slot.elements,
                                          .first = 0,
                                          .elements = slot.elements}},
                                {values.get() + slot.offset, slot.elements}});
    retained.storage.push_back(values);
    return {};
  }

  static Status take_shard(RetainedState& retained, const ModelState& state, Stream& stream,
                           const OptimizerPart& part) {
    const auto number = static_cast<std::int32_t>(part.shard());
    if (retained.holds(number)) // another rank of this node has it too
      return {};
    const auto plan = state.layout().plan_shard(part.shard());
    const std::shared_ptr<float[]> values{new float[plan.elements()]};
    const StateCopier copier{state, stream};
    float* to = values.get();
    for (const auto& chunk : plan) {
      copier.copy(chunk, part.memory(chunk.array, chunk.bucket), to);
      to += chunk.elements;
    }
    TROUPE_TRY(stream.synchronize());
    retained.add(number, plan.parts(), values);
    return {};
  }

  const Generation& generation_;
  std::map<std::int64_t, RetainedState> by_step_;
};

} // namespace

Result<RetainedStates> salvage_shards(const Generation& generation) {
  return ShardSalvage{generation}.run();
}

} // namespace troupe::training
