/// What a FORMER gives its NODE: a generation that can train, and the METRICS that shows it.
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
  /// What this run was before, as its files say, on the node that leads; empty: what the generation
  /// before left.
  std::optional<metrics::EarlierRun> before = {};
  /// By checkpoint.best, of the run's best checkpoint, on the node that leads.
  std::optional<double> best = {};
  bool takes_over = false;          ///< this node leads, and another did before
  metrics_actor metrics;            ///< lives until NODE ends it
  std::string metrics_address = {}; ///< HOST:PORT; empty: off
  // Seconds.
  double heal = 0;    ///< until all nodes had the state
  double connect = 0; ///< until their ranks were connected
};

} // namespace troupe::actors
