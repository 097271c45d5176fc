// What a generation leaves to its host.
#include "core/fail.hpp"
#include "engine/exchange/exchange.hpp"
#include "engine/generation.hpp"
#include "engine/leave_parts.hpp"

#include <algorithm>

namespace troupe::engine {

namespace {

/// A checkpoint with room for these tensors, and where its next value goes.
class CheckpointFiller {
public:
  explicit CheckpointFiller(const CheckpointHeader& header) {
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

/// The whole state of `step` steps in the host's memory; `fetch` fills a piece.
template <class Fetch>
Result<Checkpoint> put_together(const ModelState& state, std::int64_t step, const Fetch& fetch) {
  std::optional<CheckpointFiller> filler;
  std::vector<float> scratch;
  for (std::size_t index = 0; index < state.saved().size(); ++index) {
    StatePiece piece{.step = step, .index = index};
    TROUPE_TRY(fetch(piece));
    if (!filler)
      filler.emplace(state.describe(piece.loss_scale));
    const float* stored = piece.values.data();
    for (const auto& range : state.saved()[index].ranges) {
      filler->append(in_canonical_layout(range, stored, scratch));
      stored += range.elements;
    }
  }
  filler->checkpoint().step = step;
  return std::move(filler->checkpoint());
}

Result<std::int64_t> steps_of(const Replica& replica, Stream& stream) {
  std::int64_t steps = 0;
  replica.device().copy(stream, &steps, replica.state->steps(), sizeof steps);
  TROUPE_TRY(stream.synchronize());
  return steps;
}

Result<Checkpoint> copy_of(const Replica& replica, Stream& stream, std::int64_t step) {
  const auto& state = *replica.state;
  if (state.commits_statistics())
    state.revert_statistics(stream, step - 1);
  return put_together(state, step, [&](StatePiece& piece) {
    const auto& saved = state.saved()[piece.index];
    piece.values.resize(saved.elements);
    if (piece.index == 0)
      state.copy_loss_scale(stream, piece.loss_scale);
    float* to = piece.values.data();
    for (const auto& range : saved.ranges) {
      state.copy_range(stream, range, to);
      to += range.elements;
    }
    return stream.synchronize();
  });
}

void leave(const Generation& generation, Checkpoint state) {
  state.epoch = generation.job().plan.epoch_of(state.step);
  generation.host->state = state_in_memory(std::move(state));
}

/// Where ranks train apart, they have one state where they met last.
Status return_to_base(const Generation& generation) {
  for (const auto& replica : generation.replicas) {
    const auto stream = replica->device().create_stream({.name = "leaving"});
    replica->state->return_to_base(*stream);
    TROUPE_TRY(stream->synchronize());
  }
  return {};
}

} // namespace

bool is_whole(const Replica& replica) {
  const auto& strategy = replica.state->strategy();
  return !strategy.divides_parameters && !strategy.divides_optimizer && !strategy.offloads() &&
         (!strategy.root_only || replica.rank == 0);
}

Status leave_state(const Generation& generation, std::int64_t step) {
  std::vector<Exchange> ranks;
  for (const auto& replica : generation.replicas) {
    ranks.emplace_back(ExchangeSetup{.replica = replica, .optimizer = generation.job().optimizer});
    if (replica->state->commits_statistics()) // forward has moved them in steps that do not count
      replica->state->revert_statistics(*replica->communication, step - 1);
  }
  const auto gather = [&](StatePiece& piece) -> Status {
    for (auto& rank : ranks)
      rank.gather_piece(piece.index, &rank == &ranks.front() ? &piece : nullptr);
    for (auto& rank : ranks)
      TROUPE_TRY(rank.last_stream().synchronize());
    return {};
  };
  TROUPE_TRY(auto whole, put_together(*generation.replicas.front()->state, step, gather));
  leave(generation, std::move(whole));
  return {};
}

Status leave_own_state(const Generation& generation) {
  generation.drain();
  TROUPE_TRY(return_to_base(generation));
  std::shared_ptr<Replica>
      last; // of those that have come furthest: one may have applied a step less
  std::int64_t most = -1;
  // A stream that has failed does nothing any more.
  std::shared_ptr<Stream> reading;
  for (const auto& replica : generation.replicas) {
    if (!is_whole(*replica))
      continue;
    auto stream = replica->device().create_stream({.name = "leaving"});
    TROUPE_TRY(const auto steps, steps_of(*replica, *stream));
    if (steps <= most)
      continue;
    most = steps;
    last = replica;
    reading = std::move(stream);
  }
  if (!last) {
    if (!generation.strategy.root_only) { // where rank 0 alone has all
      TROUPE_TRY(generation.host->held, read_parts(generation));
    }
    return {};
  }
  TROUPE_TRY(auto whole, copy_of(*last, *reading, most));
  leave(generation, std::move(whole));
  return {};
}

} // namespace troupe::engine
