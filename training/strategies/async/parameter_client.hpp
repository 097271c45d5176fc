/// Asynchronous training, on a rank that computes slices: enqueues taking parameters from the
/// owners of all shards, and sending gradients to them. The caller receives the messages.
#pragma once

#include "collectives/point_to_point/point_to_point.hpp"
#include "data/throughput_estimator.hpp"
#include "training/rank_state.hpp"
#include "training/strategies/async/messages.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace troupe::training {

/// Enqueues on the rank's communication stream, after its compute work.
class ParameterClient {
public:
  ParameterClient(std::shared_ptr<RankState> rank_state,
                  std::shared_ptr<collectives::PointToPoint> point_to_point);

  /// By owner: the version of the parameters on this rank.
  const std::vector<ParameterVersion>& read() const { return read_; }
  const ParameterVersion& read(int owner) const { return read_[static_cast<std::size_t>(owner)]; }
  /// Enqueues: copies an owner's parameters to this rank.
  void take(const collectives::MessagePtr& parameters);
  /// Enqueues: loads the batch norm statistics and the loss scale of a version. Precondition: all
  /// messages of that version have arrived. `scale`: ParameterServerShard::scale, a value on the
  /// host, because the owner's stream may be changing the one on the device. Errors: out_of_memory.
  Status take_rest(Version version, float scale);
  /// Enqueues: sends a bucket's gradients to their owners. Returns the bytes sent to other ranks.
  /// Errors: out_of_memory.
  Result<std::uint64_t> give(const Bucket& bucket, std::size_t number, const data::WorkItem& item);
  /// Enqueues: sends the current batch norm statistics to all ranks.
  Result<std::uint64_t> give_statistics(std::int64_t step);

private:
  RankState& rank_state() const { return *rank_state_; }
  ModelState& state() const { return *rank_state_->state; }
  Stream& stream() const { return *rank_state_->communication; }
  Status take_scale(float scale);
  /// Sends after the work enqueued on the stream so far.
  void send(std::vector<collectives::Message> message);

  std::shared_ptr<RankState> rank_state_;
  std::shared_ptr<collectives::PointToPoint> point_to_point_;
  std::vector<ParameterVersion> read_; ///< by owner
  std::optional<float> scale_; ///< of the loss being computed; empty until the first is loaded
};

} // namespace troupe::training
