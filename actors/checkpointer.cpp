#include "checkpointer.hpp"

#include <chrono>

namespace troupe::actors {

checkpointer_actor::behavior_type CheckpointerState::make_behavior() {
  return {
      [this](atom::snapshot, const SnapshotPtr& snapshot, bool save) {
        return take(*snapshot, save);
      },
  };
}

CheckpointOutcome CheckpointerState::take(const Snapshot& snapshot, bool save) {
  const auto begin = std::chrono::steady_clock::now();
  auto checkpoint = setup_.state->decode(snapshot);
  checkpoint.epoch = snapshot.step / setup_.steps_per_epoch;
  checkpoint.metadata = setup_.metadata;
  CheckpointOutcome outcome{.step = snapshot.step, .parameters_sha256 = digest(checkpoint)};
  if (save) {
    outcome.path = setup_.store.path_of(snapshot.step).string();
    if (const auto saved = setup_.store.save(checkpoint); !saved)
      outcome.failure = saved.error().to_string();
    else if (const auto pruned = setup_.store.prune(setup_.keep); !pruned)
      outcome.failure = pruned.error().to_string();
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return outcome;
}

std::string CheckpointerState::digest(const Checkpoint& checkpoint) const {
  std::map<std::string, std::span<const float>> parameters;
  for (const auto& slot : setup_.state->layout().parameters)
    if (const auto* tensor = checkpoint.find(slot.name))
      parameters.emplace(slot.name, tensor->values);
  return parameters_sha256(parameters);
}

} // namespace troupe::actors
