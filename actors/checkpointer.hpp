/// CHECKPOINTER: puts snapshots on disk in canonical layout while training goes on.
#pragma once

#include "interfaces.hpp"
#include "model_state.hpp"

#include "troupe/core/checkpoint_store.hpp"
#include "troupe/metrics/trace.hpp"

#include <map>
#include <memory>
#include <string>

namespace troupe::actors {

struct CheckpointerSetup {
  CheckpointStore store;
  std::shared_ptr<const ModelState> state; ///< knows the layout of snapshots
  std::map<std::string, std::string> metadata;
  std::int64_t steps_per_epoch = 1;
  std::int64_t keep = 3;
  metrics::Track row = {}; ///< of the actor in the timeline
};

class CheckpointerState {
public:
  static inline const char* name = "checkpointer";

  CheckpointerState(checkpointer_actor::pointer, CheckpointerSetup setup)
      : setup_{std::move(setup)} {}
  checkpointer_actor::behavior_type make_behavior();

private:
  CheckpointOutcome take(const Snapshot& snapshot, bool save);
  std::string digest(const Checkpoint& checkpoint) const;

  CheckpointerSetup setup_;
};

} // namespace troupe::actors
