// Returns the state of a generation to its compiled job.
#include "core/fail.hpp"
#include "training/generation.hpp"
#include "training/reducer/reducer.hpp"
#include "training/salvage_shards.hpp"

#include <algorithm>

namespace troupe::training {

namespace {

/// Fills a checkpoint's tensors one after another.
class CheckpointAssembler {
public:
  explicit CheckpointAssembler(const CheckpointHeader& header) {
    std::size_t elements = 0;
    for (const auto& tensor : header.tensors)
      elements += static_cast<std::size_t>(tensor.shape.elements());
    const std::shared_ptr<std::byte[]> storage{new std::byte[elements * sizeof(float)]};
    checkpoint_.metadata = header.metadata;
    checkpoint_.storage = storage;
    next_ = reinterpret_cast<float*>(storage.get());
    const float* at = next_;
    for (const auto& tensor : header.tensors) {
      const auto size = static_cast<std::size_t>(tensor.shape.elements());
      checkpoint_.tensors.push_back({tensor.name, tensor.shape, {at, size}});
      at += size;
    }
  }

  void append(std::span<const float> values) { next_ = std::ranges::copy(values, next_).out; }
  Checkpoint& checkpoint() { return checkpoint_; }

private:
  Checkpoint checkpoint_;
  float* next_;
};

/// Assembles the whole state after `step` steps in the host's memory; `fetch` fills one chunk.
template <class Fetch>
Result<Checkpoint> put_together(const ModelState& state, std::int64_t step, const Fetch& fetch) {
  std::optional<CheckpointAssembler> producer;
  std::vector<float> scratch;
  for (std::size_t index = 0; index < state.saved().size(); ++index) {
    StateChunk chunk{.step = step, .index = index};
    TROUPE_TRY(fetch(chunk));
    if (!producer)
      producer.emplace(state.describe(chunk.loss_scale));
    const float* stored = chunk.values.data();
    for (const auto& range : state.saved()[index].ranges) {
      producer->append(in_canonical_layout(range, stored, scratch));
      stored += range.elements;
    }
  }
  producer->checkpoint().step = step;
  return std::move(producer->checkpoint());
}

Result<std::int64_t> steps_of(const RankState& rank_state, Stream& stream) {
  std::int64_t steps = 0;
  rank_state.device().copy(stream, &steps, rank_state.state->steps(), sizeof steps);
  TROUPE_TRY(stream.synchronize());
  return steps;
}

Result<Checkpoint> copy_of(const RankState& rank_state, Stream& stream, std::int64_t step) {
  const auto& state = *rank_state.state;
  if (state.commits_statistics())
    state.revert_statistics(stream, step - 1);
  return put_together(state, step, [&](StateChunk& chunk) {
    const auto& saved = state.saved()[chunk.index];
    chunk.values.resize(saved.elements);
    if (chunk.index == 0)
      state.copy_loss_scale(stream, chunk.loss_scale);
    float* to = chunk.values.data();
    for (const auto& range : saved.ranges) {
      state.copy_range(stream, range, to);
      to += range.elements;
    }
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

} // namespace

bool is_whole(const RankState& rank_state) {
  const auto& strategy = rank_state.state->strategy();
  return !strategy.divides_parameters && !strategy.divides_optimizer && !strategy.offloads() &&
         (!strategy.root_only || rank_state.rank == 0);
}

Status return_state(const Generation& generation, std::int64_t step) {
  std::vector<GradientReducer> ranks;
  for (const auto& rank_state : generation.rank_states) {
    ranks.emplace_back(
        GradientReducerSetup{.rank_state = rank_state, .optimizer = generation.job().optimizer});
    if (rank_state->state->commits_statistics()) // later forward passes have moved them
      rank_state->state->revert_statistics(*rank_state->communication, step - 1);
  }
  const auto gather = [&](StateChunk& chunk) -> Status {
    for (auto& rank : ranks)
      rank.gather_chunk(chunk.index, &rank == &ranks.front() ? &chunk : nullptr);
    for (auto& rank : ranks)
      TROUPE_TRY(rank.last_stream().synchronize());
    return {};
  };
  TROUPE_TRY(auto whole, put_together(*generation.rank_states.front()->state, step, gather));
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
    TROUPE_TRY(const auto steps, steps_of(*rank_state, *stream));
    if (steps <= most)
      continue;
    most = steps;
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
