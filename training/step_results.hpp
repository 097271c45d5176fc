/// Results of a step that depend on all its gradients together.
#pragma once

#include "core/device/loss_scale.hpp"

namespace troupe::training {

/// Written by a rank's stream, after its optimizer has run. In asynchronous training ranks exchange
/// those of their shards before.
struct StepResults {
  LossScaleState loss_scale = {}; ///< after the step, if losses are scaled
  /// Squared global norm of the gradient before clipping; below 0: not measured. With
  /// Strategy::root_only, only the value of the root is right, because only the root has the sums.
  double squared_norm = -1;
  /// Set when ranks are averaged (RankAverage::average_all): the mean of the squared norms of their
  /// parameters, and the squared norm of the mean. The difference measures how far apart the ranks
  /// were.
  double mean_square = -1, square_of_mean = -1;
};

} // namespace troupe::training
