// Returns the state of a generation to its compiled job.
#include "core/fail.hpp"
#include "training/generation.hpp"
#include "training/salvage_shards.hpp"
#include "training/state/state_assembler.hpp"
#include "training/state/state_copier.hpp"

#include <utility>

namespace troupe::training {

namespace {

/// Assembles the whole state after `step` steps in the host's memory; `fetch` fills one chunk.
template <class Fetch>
Result<Checkpoint> whole_state(const StateLayout& layout, std::int64_t step, const Fetch& fetch) {
  StateAssembler assembler{layout.whole(), layout.whole().size()};
  StateChunk chunk{.step = step};
  for (std::size_t index = 0; index < layout.whole().size(); ++index) {
    TROUPE_TRY(fetch(index, chunk));
    assembler.add(index, chunk.values.data());
  }
  auto whole = assembler.take();
  whole.step = step;
  whole.metadata = layout.describe(chunk.loss_scale).metadata;
  return whole;
}

Result<Checkpoint> copy_of(const RankState& rank_state, Stream& stream, std::int64_t step) {
  const auto& state = *rank_state.state;
  if (state.statistics().commits())
    state.statistics().revert(stream, step - 1);
  const StateCopier copier{state, stream};
  return whole_state(state.layout(), step, [&](std::size_t index, StateChunk& chunk) {
    copier.gather(index, &chunk);
    return stream.synchronize();
  });
}

void leave(const Generation& generation, Checkpoint state) {
  state.epoch = generation.job().plan.epoch_of(state.step);
  generation.compiled_job->state = state_in_memory(std::move(state));
}

/// If ranks train apart, returns them to their last common state.
Status return_to_base(const Generation& generation) {
  for (const auto& rank_state : generation.rank_states) {
    const auto stream = rank_state->device().create_stream({.name = "leaving"});
    rank_state->state->return_to_base(*stream);
    TROUPE_TRY(stream->synchronize());
  }
  return {};
}

/// Whether a rank has the whole state in its device's memory.
bool is_whole(const RankState& rank_state) {
  const auto& strategy = rank_state.state->layout().strategy();
  return !strategy.divides_parameters && !strategy.divides_optimizer && !strategy.offloads() &&
         (!strategy.root_only || rank_state.rank == 0);
}

} // namespace

Status return_state(const Generation& generation, std::int64_t step) {
  const auto& ranks = generation.rank_states;
  for (const auto& rank_state : ranks)
    if (const auto& statistics = rank_state->state->statistics(); statistics.commits())
      statistics.revert(*rank_state->communication, step - 1); // later passes have moved them
  const auto gather = [&](std::size_t index, StateChunk& chunk) -> Status {
    for (const auto& rank : ranks)
      StateCopier{*rank->state, *rank->communication, rank->shard_group.get()}.gather(
          index, rank == ranks.front() ? &chunk : nullptr);
    for (const auto& rank : ranks)
      TROUPE_TRY(rank->communication->synchronize());
    return {};
  };
  TROUPE_TRY(auto whole, whole_state(ranks.front()->state->layout(), step, gather));
  leave(generation, std::move(whole));
  return {};
}

Status salvage_state(const Generation& generation) {
  generation.drain();
  TROUPE_TRY(return_to_base(generation));
  std::shared_ptr<RankState> last; // has applied the most steps; ranks may differ by one step
  std::int64_t most = -1;
  // New streams, because a failed stream runs nothing.
  std::shared_ptr<Stream> reading;
  for (const auto& rank_state : generation.rank_states) {
    if (!is_whole(*rank_state))
      continue;
    auto stream = rank_state->device().create_stream({.name = "leaving"});
    TROUPE_TRY(const auto steps, rank_state->state->read_steps(*stream));
    if (steps.applied <= most)
      continue;
    most = steps.applied;
    last = rank_state;
    reading = std::move(stream);
  }
  if (!last) {
    if (!generation.strategy.root_only) { // only rank 0 has the state
      TROUPE_TRY(generation.compiled_job->retained, salvage_shards(generation));
    }
    return {};
  }
  TROUPE_TRY(auto whole, copy_of(*last, *reading, most));
  leave(generation, std::move(whole));
  return {};
}

} // namespace troupe::training
