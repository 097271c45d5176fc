/// Of asynchronous training, what a rank enqueues that computes slices: parameters of all shards
/// come from their owners, and gradients go there. No messages here.
#pragma once

#include "collectives/post/post.hpp"
#include "engine/asynchronous/letters.hpp"
#include "engine/replica.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::engine {

/// A slice of a step's global batch.
struct SliceOf {
  std::int64_t step = 0;
  int slice = 0;
};

/// On the rank's communication stream, behind what it computes.
class SliceReader {
public:
  SliceReader(std::shared_ptr<Replica> replica, std::shared_ptr<collectives::Post> post);

  /// By owner: the parameters that are here.
  const std::vector<Point>& read() const { return read_; }
  const Point& read(int owner) const { return read_[static_cast<std::size_t>(owner)]; }
  /// Enqueues: an owner's parameters are these from now on.
  void take(const collectives::MailPtr& parameters);
  /// Enqueues: what is no parameter, batch norms' statistics and the loss scale, is that of a
  /// version which all that is needed of has come. `scale` is the owner's (ShardOwner::scale): on
  /// the device its stream may be changing it. Errors: out_of_memory.
  Status take_rest(Version version, float scale);
  /// Enqueues: a bucket's gradients to their owners. Returns the bytes that leave this rank.
  /// Errors: out_of_memory.
  Result<std::uint64_t> give(const collectives::Bucket& bucket, std::size_t number, SliceOf slice);
  /// Enqueues: batch norms' statistics as they are now to all ranks.
  Result<std::uint64_t> give_statistics(std::int64_t step);

private:
  Replica& replica() const { return *replica_; }
  ModelState& state() const { return *replica_->state; }
  Stream& stream() const { return *replica_->communication; }
  Result<BufferPtr> copy(const float* values, std::size_t elements);
  Status take_scale(float scale);
  /// When the stream has come so far.
  void send(std::vector<collectives::Mail> mail);

  std::shared_ptr<Replica> replica_;
  std::shared_ptr<collectives::Post> post_;
  std::vector<Point> read_;    ///< by owner
  std::optional<float> scale_; ///< of the loss that is computed now; empty: none was read yet
};

} // namespace troupe::engine
