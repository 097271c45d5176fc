/// Sums pseudo-gradients at the owner of a chunk of each fragment.
#pragma once

#include "training/rank_state.hpp"
#include "training/strategies/diloco/fragments.hpp"
#include "training/strategies/diloco/messages.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace troupe::training {

/// Uses a separate stream (RankState::owner), so that sums for other replica groups do not queue
/// after this rank's backward.
class PseudoGradientReducer {
public:
  using Send = std::function<void(collectives::Message)>;

  /// Blocks. Errors: out_of_memory; the stream's.
  static Result<std::shared_ptr<PseudoGradientReducer>>
  create(std::shared_ptr<RankState> rank_state, const std::vector<Fragment>& fragments);

  Stream& stream() const { return *rank_state_->owner; }
  /// Enqueues: sums the round's pseudo-gradients in this order. The stream then passes the message,
  /// without `from` and `to`, to `send`. Error: out_of_memory.
  Status close(Round round, std::vector<collectives::MessagePtr> pseudo_gradients, Send send);
  /// Rounding error of a fragment's sums; read it after the stream's work. Null without error
  /// feedback.
  const float* rounded_off(int fragment) const;
  /// Enqueues: clears the fragment's rounding error.
  void forget(int fragment);

private:
  PseudoGradientReducer(std::shared_ptr<RankState> rank_state,
                        const std::vector<Fragment>& fragments);
  Status allocate();
  Device& device() const { return rank_state_->device(); }
  void add(std::span<const collectives::MessagePtr> pseudo_gradients, std::size_t elements);
  void add_square(const float* values, std::size_t elements, double weight, std::size_t to);

  std::shared_ptr<RankState> rank_state_;
  std::vector<std::size_t> chunks_, places_; ///< by fragment, in elements
  BufferPtr sum_, decoded_;                  ///< of one chunk
  BufferPtr rounded_off_;                    ///< of all chunks
  BufferPtr squares_;                        ///< of pseudo-gradients, and of their sum
};

} // namespace troupe::training
