#include "checkpointer.hpp"

#include "traced.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <tuple>

namespace troupe::actors {

namespace {

/// The name of a tensor that no run could go on from; empty: all can be used.
std::string not_finite(const Checkpoint& checkpoint) {
  for (const auto& tensor : checkpoint.tensors)
    if (!std::ranges::all_of(tensor.values, [](float value) { return std::isfinite(value); }))
      return tensor.name;
  return {};
}

} // namespace

checkpointer_actor::behavior_type CheckpointerState::make_behavior() {
  std::ignore = setup_.store.remove_temporaries(); // of a process that was killed
  return traced<checkpointer_actor>(setup_.row,
                                    [this](atom::snapshot, const SnapshotPtr& snapshot, bool save) {
                                      return take(*snapshot, save);
                                    });
}

CheckpointOutcome CheckpointerState::take(const Snapshot& snapshot, bool save) {
  const auto begin = std::chrono::steady_clock::now();
  auto checkpoint = setup_.state->decode(snapshot);
  checkpoint.epoch = snapshot.step / setup_.steps_per_epoch;
  checkpoint.metadata.insert(setup_.metadata.begin(), setup_.metadata.end());
  CheckpointOutcome outcome{.step = snapshot.step, .parameters_sha256 = digest(checkpoint)};
  if (save) {
    outcome.path = setup_.store.path_of(snapshot.step).string();
    if (const auto tensor = not_finite(checkpoint); !tensor.empty())
      outcome.failure =
          Error{Errc::numeric, fmt::format("{} has values that are not finite", tensor)};
    else if (const auto saved = setup_.store.save(checkpoint); !saved)
      outcome.failure = saved.error();
    else if (const auto pruned = setup_.store.prune(setup_.keep); !pruned)
      outcome.failure = pruned.error();
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
