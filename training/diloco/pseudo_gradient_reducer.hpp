/// What the owner of a chunk of each fragment enqueues: sums of what teams have changed in it.
#pragma once

#include "training/diloco/fragment.hpp"
#include "training/diloco/messages.hpp"
#include "training/rank_state.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace troupe::training {

/// On a stream of its own (Replica::owner): what other teams wait for does not stand behind this
/// one's backward.
class PseudoGradientReducer {
public:
  using Send = std::function<void(collectives::Message)>;

  /// Blocks. Errors: out_of_memory; the stream's.
  static Result<std::shared_ptr<PseudoGradientReducer>>
  create(std::shared_ptr<RankState> rank_state, const std::vector<Fragment>& fragments);

  Stream& stream() const { return *rank_state_->owner; }
  /// Enqueues: the changes that a round takes, which are there, summed in this order; the letter
  /// (without `from` and `to`) is given to `send` from the stream. Error: out_of_memory.
  Status close(Round round, std::vector<collectives::MessagePtr> pseudo_gradients, Send send);
  /// What was rounded off of a fragment's sums, to be read behind the stream; null: it is not kept.
  const float* rounded_off(int fragment) const;
  /// Enqueues: nothing of it is left.
  void forget(int fragment);

private:
  PseudoGradientReducer(std::shared_ptr<RankState> rank_state,
                        const std::vector<Fragment>& fragments);
  Status allocate();
  Device& device() const { return rank_state_->device(); }
  void add(std::span<const collectives::MessagePtr> pseudo_gradients, std::size_t elements);
  void add_square(const float* values, std::size_t elements, double weight, std::size_t to);

  std::shared_ptr<RankState> rank_state_;
  std::vector<std::size_t> chunks_, places_; ///< by fragment, elements
  BufferPtr sum_, decoded_;                  ///< of a chunk
  BufferPtr rounded_off_;                    ///< of all chunks
  BufferPtr squares_;                        ///< of changes, and of their sum
};

} // namespace troupe::training
