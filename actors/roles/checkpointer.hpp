/// CHECKPOINTER: puts a rank's state on disk, in canonical layout, and hashes it.
#pragma once

#include "../interfaces.hpp"
#include "troupe/engine/state/model_state.hpp"

#include "troupe/core/checkpoint/store.hpp"
#include "troupe/metrics/trace.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

struct CheckpointerSetup {
  CheckpointStore store;
  std::shared_ptr<const engine::ModelState> state; ///< knows the layout, and has the snapshot
  std::map<std::string, std::string> metadata;
  std::int64_t steps_per_epoch = 1;
  std::int64_t keep = 3;
  metrics::Track row = {}; ///< of the actor in the timeline
};

/// Of a whole state it holds one tensor at most, and that only where the device stores it in a
/// layout of its own.
class CheckpointerState {
public:
  static inline const char* name = "checkpointer";

  CheckpointerState(checkpointer_actor::pointer, CheckpointerSetup setup)
      : setup_{std::move(setup)} {}
  checkpointer_actor::behavior_type make_behavior();

private:
  using Clock = std::chrono::steady_clock;
  /// A checkpoint that is being written, or only hashed.
  struct Work {
    CheckpointOutcome outcome;
    std::optional<CheckpointWriter> writer = {}; ///< empty: nothing (more) is written
    Sha256 digest = {};                          ///< of the parameters
    Clock::time_point begin = Clock::now();
  };

  CheckpointOutcome take(const engine::Snapshot& snapshot);
  CheckpointOutcome take(const engine::StatePiece& piece, bool save);
  void begin(std::int64_t step, const std::optional<LossScaleState>& loss_scale, bool save);
  void add(const engine::SavedRange& range, const float* stored);
  void write(const engine::SavedRange& range, std::span<const float> values);
  void fail(Error error);
  CheckpointOutcome end();

  CheckpointerSetup setup_;
  std::optional<Work> work_;
  std::vector<float> canonical_; ///< of a tensor, on its way
};

} // namespace troupe::actors
