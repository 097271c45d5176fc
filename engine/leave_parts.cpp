// What a node keeps of a generation that had divided the state.
#include "engine/leave_parts.hpp"

#include "core/fail.hpp"
#include "engine/exchange/exchange.hpp"

#include <algorithm>
#include <map>

namespace troupe::engine {

namespace {

struct Counts {
  std::int64_t applied = 0, prepared = 0;
};

/// One after the other reads what each of this node's ranks holds.
class PartsLeaver {
public:
  explicit PartsLeaver(const Generation& generation) : generation_{generation} {}

  Result<HeldStates> run() {
    for (const auto& replica : generation_.replicas)
      TROUPE_TRY(take(replica));
    HeldStates held;
    for (auto& [step, state] : by_step_)
      held.push_back(std::make_shared<const HeldState>(std::move(state)));
    add_those_before(held);
    return held;
  }

private:
  /// Until a step was committed, others may hold no more than what the generation began with.
  void add_those_before(HeldStates& held) const {
    const auto& before = generation_.replicas.front()->before;
    if (!before)
      return;
    for (const auto& state : *before)
      if (!find_held(held, state->shards.step, state->shards.shards))
        held.push_back(state);
  }

  Status take(const std::shared_ptr<Replica>& replica) {
    TROUPE_TRY(const auto counts, counts_of(*replica));
    TROUPE_TRY(take(*replica, counts.applied, true));
    if (counts.prepared <= counts.applied)
      return {};
    Exchange exchange{{.replica = replica,
                       .dealing = generation_.dealing,
                       .clip_norm = generation_.job().config.train.clip_grad_norm,
                       .loss_scale = generation_.job().loss_scale,
                       .optimizer = generation_.job().optimizer}};
    TROUPE_TRY(exchange.roll_forward(counts.applied));
    return take(*replica, counts.prepared, false);
  }

  static Result<Counts> counts_of(const Replica& replica) {
    const auto& state = *replica.state;
    const auto stream = replica.device().create_stream({.name = "leaving"});
    Counts counts;
    replica.device().copy(*stream, &counts.applied, state.steps(), sizeof(std::int64_t));
    replica.device().copy(*stream, &counts.prepared, state.prepared_steps(), sizeof(std::int64_t));
    TROUPE_TRY(stream->synchronize());
    if (!state.prepares())
      counts.prepared = counts.applied;
    return counts;
  }

  /// What it holds, as that of so many steps. A stream that has failed does nothing any more.
  Status take(const Replica& replica, std::int64_t step, bool applied) {
    const auto& state = *replica.state;
    const auto stream = replica.device().create_stream({.name = "leaving"});
    auto& held = by_step_[step];
    if (held.shards.step < 0)
      TROUPE_TRY(begin(held, replica, *stream, step));
    held.shards.applied = held.shards.applied || applied;
    TROUPE_TRY(take_shard(held, state, *stream, state.shard(), &ModelState::copy_of_shard));
    if (const auto* const buddy = state.buddy())
      TROUPE_TRY(take_shard(held, state, *stream, buddy->shard(), &ModelState::copy_of_buddy));
    return {};
  }

  Status begin(HeldState& held, const Replica& replica, Stream& stream, std::int64_t step) {
    const auto& state = *replica.state;
    held.shards = {.step = step, .applied = false, .shards = state.strategy().shards};
    std::optional<LossScaleState> loss_scale;
    state.copy_loss_scale(stream, loss_scale);
    TROUPE_TRY(stream.synchronize());
    held.header = state.describe(loss_scale);
    held.header.tensors.clear();
    held.header.step = step;
    held.header.epoch = generation_.job().plan.epoch_of(step);
    return take_statistics(held, replica, stream);
  }

  static Status take_statistics(HeldState& held, const Replica& replica, Stream& stream) {
    const auto& state = *replica.state;
    const auto elements = state.layout().statistic_elements;
    if (elements == 0)
      return {};
    const float* const from = state.commits_statistics()
                                  ? state.committed_statistics(held.shards.step - 1)
                                  : state.statistics();
    const std::shared_ptr<float[]> values{new float[elements]};
    replica.device().copy(stream, values.get(), from, elements * sizeof(float));
    TROUPE_TRY(stream.synchronize());
    for (const auto& slot : state.layout().statistics)
      held.parts.push_back({{.what = {.name = slot.name,
                                      .shape = slot.shape,
                                      .stored = slot.elements,
                                      .first = 0,
                                      .elements = slot.elements}},
                            {values.get() + slot.offset, slot.elements}});
    held.storage.push_back(values);
    return {};
  }

  using Copy = void (ModelState::*)(Stream&, const SavedRange&, float*) const;

  Status take_shard(HeldState& held, const ModelState& state, Stream& stream, std::size_t shard,
                    Copy copy) {
    const auto number = static_cast<std::int32_t>(shard);
    if (held.holds(number)) // another rank of this node has it, too
      return {};
    const auto part = SavedPart::of_shard(state.plan(), shard);
    const auto pieces =
        plan_saved_part(state.layout(), state.plan(), state.saved_slots(), part, false);
    std::size_t elements = 0;
    for (const auto& piece : pieces)
      elements += piece.elements;
    const std::shared_ptr<float[]> values{new float[elements]};
    float* to = values.get();
    for (const auto& piece : pieces)
      for (const auto& range : piece.ranges) {
        (state.*copy)(stream, range, to);
        to += range.elements;
      }
    TROUPE_TRY(stream.synchronize());
    held.add(number, state.describe_pieces(pieces), values);
    return {};
  }

  const Generation& generation_;
  std::map<std::int64_t, HeldState> by_step_;
};

} // namespace

Result<HeldStates> read_parts(const Generation& generation) {
  return PartsLeaver{generation}.run();
}

} // namespace troupe::engine
