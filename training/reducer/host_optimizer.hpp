/// The optimizer of what lies in the host's memory (parallel.offload), beside the device's
/// backward: Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training", USENIX ATC
/// 2021, section 4; where parameters are offloaded too, as CPUOffload of PyTorch's FSDP.
#pragma once

#include "metrics/trace.hpp"
#include "training/rank_state.hpp"

#include <chrono>
#include <memory>
#include <vector>

namespace troupe::training {

/// The host's part of a device. Errors: unsupported where the device has no pinned memory.
Status add_updater(CompiledWorker& compiled, int threads);
/// Streams on which state travels and is updated. `limit`: as StreamOptions::host_limit.
void add_host_streams(RankState& rank_state, int threads,
                      std::chrono::milliseconds limit = std::chrono::minutes{1});

struct HostOptimizerRows {
  metrics::Track copies = {}, updates = {}; ///< of the streams in the timeline
};

/// Every bucket goes the same way, and waits for itself alone: its gradients come down (fetch), the
/// host updates it (apply), its parameters go up (publish), what needs them waits (await). Calls
/// only enqueue; with a bucket that is not offloaded they do nothing.
class HostOptimizer {
public:
  HostOptimizer(std::shared_ptr<RankState> rank_state, HostOptimizerRows rows);

  /// Copies as soon as the communication stream has come this far.
  void fetch(const collectives::Bucket& bucket, std::int64_t step);
  /// Takes what that stream has found of all gradients; updates enqueued from now on wait for it,
  /// and happen where all ranks have voted for them, if they do.
  void take_findings(bool votes);
  /// `clips`: by the factor that was found.
  void apply(const collectives::Bucket& bucket, const OptimizerArguments& arguments, bool clips,
             std::int64_t step);
  void publish(const collectives::Bucket& bucket, std::int64_t step);
  /// Work enqueued on the communication stream from now on sees the bucket as it was updated.
  void await(const collectives::Bucket& bucket);
  /// A stream that is done when all of this, and the communication stream so far, are.
  Stream& join();

private:
  ModelState& state() const { return *rank_state_->state; }
  Stream& copies() const { return *rank_state_->copies; }
  std::size_t index_of(const collectives::Bucket& bucket) const;
  void copy(const collectives::Bucket& bucket, std::string_view what, float* to, const float* from,
            std::int64_t step);

  std::shared_ptr<RankState> rank_state_;
  HostOptimizerRows rows_;
  std::vector<EventPtr> fetched_, updated_; ///< by bucket
  EventPtr found_;
};

} // namespace troupe::training
