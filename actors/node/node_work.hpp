/// The blocking work of NODE before and after a generation trains.
#pragma once

#include "actors/interfaces.hpp"
#include "metrics/report/earlier_run.hpp"
#include "training/generation.hpp"

#include <memory>
#include <optional>

namespace troupe::actors {

/// A generation that is ready to train, and its METRICS.
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

/// NODE calls one function at a time, on a thread that may block. The object is destroyed on such a
/// thread, too: that waits for the streams of a generation, which call actors while they run.
class NodeWork {
public:
  NodeWork() = default;
  NodeWork(const NodeWork&) = delete;
  NodeWork& operator=(const NodeWork&) = delete;
  virtual ~NodeWork() = default;

  /// Joins the other nodes, opens the data, compiles, and connects the ranks.
  virtual Result<BuiltGenerationPtr> build() = 0;
  /// Drops the generation, but keeps its state on this node and the run's view for the next one.
  /// Nothing else may own the view in the next build, which may open its files again.
  virtual void halt(RunViewPtr view) = 0;
  /// Drops the generation, because the job has ended, for all nodes or only for this one. Nothing
  /// of the generation runs afterwards.
  virtual void release(bool for_all) = 0;
  /// Notes the new voters of the generation, which this node needs if it is restarted.
  virtual void note_voters(const training::GenerationRecord& record) = 0;
};

} // namespace troupe::actors
