/// What the owner of a chunk of each fragment enqueues: sums of what teams have changed in it.
#pragma once

#include "engine/outer/fragment.hpp"
#include "engine/outer/letters.hpp"
#include "engine/replica.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace troupe::engine {

/// On a stream of its own (Replica::owner): what other teams wait for does not stand behind this
/// one's backward.
class ChangeSum {
public:
  using Send = std::function<void(collectives::Mail)>;

  /// Blocks. Errors: out_of_memory; the stream's.
  static Result<std::shared_ptr<ChangeSum>> create(std::shared_ptr<Replica> replica,
                                                   const std::vector<Fragment>& fragments);

  Stream& stream() const { return *replica_->owner; }
  /// Enqueues: the changes that a round takes, which are there, summed in this order; the letter
  /// (without `from` and `to`) is given to `send` from the stream. Error: out_of_memory.
  Status close(Round round, std::vector<collectives::MailPtr> changes, Send send);
  /// What was rounded off of a fragment's sums, to be read behind the stream; null: it is not kept.
  const float* rounded_off(int fragment) const;
  /// Enqueues: nothing of it is left.
  void forget(int fragment);

private:
  ChangeSum(std::shared_ptr<Replica> replica, const std::vector<Fragment>& fragments);
  Status allocate();
  Device& device() const { return replica_->device(); }
  void add(std::span<const collectives::MailPtr> changes, std::size_t elements);
  void add_square(const float* values, std::size_t elements, double weight, std::size_t to);

  std::shared_ptr<Replica> replica_;
  std::vector<std::size_t> chunks_, places_; ///< by fragment, elements
  BufferPtr sum_, decoded_;                  ///< of a chunk
  BufferPtr rounded_off_;                    ///< of all chunks
  BufferPtr squares_;                        ///< of changes, and of their sum
};

} // namespace troupe::engine
