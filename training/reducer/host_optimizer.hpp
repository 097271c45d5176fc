/// Optimizer of the state in the host's memory (parallel.offload), which runs while the device
/// computes backward: Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training",
/// USENIX ATC 2021, section 4. If parameters are offloaded too, as CPUOffload of PyTorch's FSDP.
#pragma once

#include "metrics/trace.hpp"
#include "training/rank_state.hpp"

#include <chrono>
#include <memory>
#include <vector>

namespace troupe::training {

/// Creates the host device that updates offloaded state. Errors: unsupported if the device has no
/// pinned memory.
Status add_updater(CompiledWorker& compiled, int threads);
/// Creates the streams that copy and update offloaded state. `limit`: see
/// StreamOptions::host_limit.
void add_host_streams(RankState& rank_state, int threads,
                      std::chrono::milliseconds limit = std::chrono::minutes{1});

struct HostOptimizerRows {
  metrics::Track copies = {}, updates = {}; ///< of the streams in the timeline
};

/// Each bucket passes through the same stages, independently of other buckets: copy its gradients
/// to the host (fetch), update it there (apply), copy its parameters back (publish), make dependent
/// work wait (await). Calls only enqueue. Calls with a bucket that is not offloaded have no effect.
class HostOptimizer {
public:
  HostOptimizer(std::shared_ptr<RankState> rank_state, HostOptimizerRows rows);

  /// Copies the gradients after the work enqueued on the communication stream so far.
  void fetch(const Bucket& bucket, std::int64_t step);
  /// Copies the clipping factor, the loss scale and the votes to the host. Later updates wait for
  /// them and, if `votes`, have no effect unless all ranks have voted for the step.
  void take_findings(bool votes);
  /// `clips`: multiplies gradients by the clipping factor.
  void apply(const Bucket& bucket, const OptimizerArguments& arguments, bool clips,
             std::int64_t step);
  void publish(const Bucket& bucket, std::int64_t step);
  /// Makes later work on the communication stream wait for the bucket's update.
  void await(const Bucket& bucket);
  /// Returns a stream that finishes after all of this work and the communication stream's so far.
  Stream& join();

private:
  const ModelState& state() const { return *rank_state_->state; }
  const StateLayout& layout() const { return state().layout(); }
  const OptimizerPart& part() const { return state().buffers().part(); }
  Stream& copies() const { return *rank_state_->copies; }
  void copy(const Bucket& bucket, std::string_view what, float* to, const float* from,
            std::int64_t step);

  std::shared_ptr<RankState> rank_state_;
  HostOptimizerRows rows_;
  std::vector<EventPtr> fetched_, updated_; ///< by bucket
  EventPtr found_;
};

} // namespace troupe::training
