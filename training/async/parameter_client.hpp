/// Of asynchronous training, what a rank enqueues that computes slices: parameters of all shards
/// come from their owners, and gradients go there. No messages here.
#pragma once

#include "collectives/point_to_point/point_to_point.hpp"
#include "training/async/messages.hpp"
#include "training/rank_state.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::training {

/// A slice of a step's global batch.
struct SliceOf {
  std::int64_t step = 0;
  int slice = 0;
};

/// On the rank's communication stream, behind what it computes.
class ParameterClient {
public:
  ParameterClient(std::shared_ptr<RankState> rank_state,
                  std::shared_ptr<collectives::PointToPoint> point_to_point);

  /// By owner: the parameters that are here.
  const std::vector<ParameterVersion>& read() const { return read_; }
  const ParameterVersion& read(int owner) const { return read_[static_cast<std::size_t>(owner)]; }
  /// Enqueues: an owner's parameters are these from now on.
  void take(const collectives::MessagePtr& parameters);
  /// Enqueues: what is no parameter, batch norms' statistics and the loss scale, is that of a
  /// version which all that is needed of has come. `scale` is the owner's
  /// (ParameterServerShard::scale): on the device its stream may be changing it. Errors:
  /// out_of_memory.
  Status take_rest(Version version, float scale);
  /// Enqueues: a bucket's gradients to their owners. Returns the bytes that leave this rank.
  /// Errors: out_of_memory.
  Result<std::uint64_t> give(const collectives::Bucket& bucket, std::size_t number, SliceOf slice);
  /// Enqueues: batch norms' statistics as they are now to all ranks.
  Result<std::uint64_t> give_statistics(std::int64_t step);

private:
  RankState& rank_state() const { return *rank_state_; }
  ModelState& state() const { return *rank_state_->state; }
  Stream& stream() const { return *rank_state_->communication; }
  Result<BufferPtr> copy(const float* values, std::size_t elements);
  Status take_scale(float scale);
  /// When the stream has come so far.
  void send(std::vector<collectives::Message> message);

  std::shared_ptr<RankState> rank_state_;
  std::shared_ptr<collectives::PointToPoint> point_to_point_;
  std::vector<ParameterVersion> read_; ///< by owner
  std::optional<float> scale_; ///< of the loss that is computed now; empty: none was read yet
};

} // namespace troupe::training
