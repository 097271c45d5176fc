/// How a rank reduces its gradients and applies them.
#pragma once

#include "data/slice_assignment.hpp"
#include "metrics/trace.hpp"
#include "training/rank_state.hpp"
#include "training/reducer/host_optimizer.hpp"
#include "training/step_plan.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

namespace troupe::training {

struct GradientReducerSetup {
  std::shared_ptr<RankState> rank_state;
  data::SliceAssignment slice_assignment = {};
  /// A step is applied after a vote of all ranks: set if they are in several processes, because one
  /// of them may die.
  bool votes = false;
  int replica_distance = 0;             ///< to this rank's replica (shard_replicas.hpp); 0: none
  std::optional<double> clip_norm = {}; ///< maximum global norm of the averaged gradients
  std::int64_t norm_every = 0;          ///< steps between measured norms; 0: only to clip
  std::optional<LossScaleOptions> loss_scale = {}; ///< as the state's
  /// Returns the optimizer's arguments for a step, with its learning rate. Pure.
  std::function<OptimizerArguments(std::int64_t step)> optimizer;
  metrics::Track row = {};          ///< of the stream in the timeline
  HostOptimizerRows host_rows = {}; ///< if state is offloaded

  /// Returns what ranks do together in the step. Call when the step begins, and keep the plan.
  StepPlan step_plan(std::int64_t step) const;
  /// Returns the optimizer's arguments for the gradients that this rank sums in a step.
  OptimizerArguments arguments(const StepPlan& planned) const;
  /// Returns the optimizer's arguments for a sum over this many slices.
  OptimizerArguments arguments(std::int64_t step, int slices) const {
    auto arguments = optimizer(step);
    arguments.gradient_scale = static_cast<float>(1.0 / slices);
    return arguments;
  }
};

} // namespace troupe::training
