/// CHECKPOINTER: writes the state that its rank saves to disk, and hashes parameters. Rank 0's
/// CHECKPOINTER publishes a checkpoint of the files that all ranks have written.
#pragma once

#include "actors/interfaces.hpp"
#include "core/checkpoint/store.hpp"
#include "core/checkpoint/write_state.hpp"
#include "metrics/trace.hpp"
#include "training/job_plan.hpp"
#include "training/state/model_state.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

struct CheckpointerSetup {
  CheckpointStore store;
  std::shared_ptr<const training::ModelState> state; ///< has the layout
  std::int32_t rank = 0, world_size = 1;
  // Used only on rank 0.
  std::map<std::string, std::string> metadata = {};
  training::JobPlan plan; ///< of the job
  std::int64_t keep = 3;
  metrics::Track row = {}; ///< of the actor in the timeline
};

/// Holds at most one tensor of the state, and only if the device stores it in a layout of its own.
class CheckpointerState {
public:
  static inline const char* name = "checkpointer";

  CheckpointerState(checkpointer_actor::pointer, CheckpointerSetup setup)
      : setup_{std::move(setup)} {}
  CheckpointerState(const CheckpointerState&) = delete;
  CheckpointerState& operator=(const CheckpointerState&) = delete;
  ~CheckpointerState();
  checkpointer_actor::behavior_type make_behavior();

private:
  using Clock = std::chrono::steady_clock;
  /// A part of a checkpoint in progress: being written, hashed, or both.
  struct Work {
    ShardOutcome outcome;
    bool is_hashed = false;                 ///< all parameters arrive, and are hashed
    std::optional<StateWriter> writer = {}; ///< empty: nothing is written, or writing has failed
    Sha256 digest = {};                     ///< of the parameters
    Clock::time_point begin = Clock::now();
  };

  const training::StateLayout& layout() const { return setup_.state->layout(); }
  ShardOutcome take(training::Snapshot& snapshot);
  ShardOutcome take(const training::StateChunk& chunk, bool write);
  void begin(std::int64_t step, bool is_hashed);
  void begin_writing(const std::optional<LossScaleState>& loss_scale);
  Result<StateWriter> open_writer() const;
  void add(const training::PlannedChunk& chunk, const float* values);
  void add(const training::StateRange& range, const float* stored);
  void write(const training::StateRange& range, std::span<const float> values);
  void fail(Error error);
  ShardOutcome end();
  metrics::CheckpointRecord finish(const CheckpointShards& parts);
  Status publish(const CheckpointShards& parts);

  CheckpointerSetup setup_;
  CheckpointHeader header_; ///< of the checkpoint in progress
  std::optional<Work> work_;
  /// Step of the checkpoint that rank 0 has begun and not finished. If the job fails meanwhile, its
  /// files are deleted.
  std::optional<std::int64_t> unfinished_;
  std::vector<float> canonical_; ///< one tensor in canonical layout
};

} // namespace troupe::actors
