// What a generation leaves to its host.
#include "exchange/exchange.hpp"
#include "generation.hpp"

#include "troupe/core/fail.hpp"

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

} // namespace

Status leave_state(const Generation& generation, std::int64_t step) {
  std::vector<Exchange> ranks;
  for (const auto& replica : generation.replicas) {
    ranks.emplace_back(ExchangeSetup{.replica = replica, .optimizer = generation.job().optimizer});
    if (replica->state->commits_statistics()) // forward has moved them in steps that do not count
      replica->state->revert_statistics(*replica->communication, step - 1);
  }
  const auto& state = *generation.replicas.front()->state;
  std::optional<CheckpointFiller> filler;
  std::vector<float> scratch;
  for (std::size_t index = 0; index < state.saved().size(); ++index) {
    StatePiece piece{.step = step, .index = index};
    for (auto& rank : ranks)
      rank.gather_piece(index, &rank == &ranks.front() ? &piece : nullptr);
    for (auto& rank : ranks)
      TROUPE_TRY(rank.last_stream().synchronize());
    if (!filler)
      filler.emplace(state.describe(piece.loss_scale));
    const float* stored = piece.values.data();
    for (const auto& range : state.saved()[index].ranges) {
      filler->append(in_canonical_layout(range, stored, scratch));
      stored += range.elements;
    }
  }
  auto& left = filler->checkpoint();
  left.step = step;
  left.epoch = generation.job().plan.epoch_of(step);
  generation.host->state = state_in_memory(std::move(left));
  return {};
}

} // namespace troupe::engine
