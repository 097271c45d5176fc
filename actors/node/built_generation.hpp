/// A generation that is ready to train, and its METRICS.
#pragma once

#include "actors/interfaces.hpp"
#include "metrics/report/earlier_run.hpp"
#include "training/generation.hpp"

#include <memory>
#include <optional>
#include <string>

namespace troupe::actors {

struct BuiltGeneration {
  std::shared_ptr<training::Generation> generation;
  metrics::RunInfo info;
  /// The run before this process, from its files; only on the leader. Empty: a generation of this
  /// process came before.
  std::optional<metrics::EarlierRun> before = {};
  /// Metric (checkpoint.best) of the run's best checkpoint, on the leader.
  std::optional<double> best = {};
  bool takes_over = false; ///< this node leads, and another did before
  metrics_actor metrics;   ///< NODE ends it
  // Seconds.
  double heal = 0;    ///< until all nodes had the state
  double connect = 0; ///< until their ranks were connected
};

using BuiltGenerationPtr = std::shared_ptr<const BuiltGeneration>;

} // namespace troupe::actors
