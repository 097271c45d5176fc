/// Ranges of the flat space with one learning rate factor (train.freeze, train.lr_scale) and one
/// setting of weight decay (train.optimizer.weight_decay).
#pragma once

#include "core/device/device.hpp"
#include "core/device/executable.hpp"
#include "nn/learning_rates.hpp"
#include "training/flat_plan.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::training {

/// Elements that one launch of the optimizer updates.
struct OptimizerChunk : OptimizerViews {
  nn::ParameterRate rate; ///< the factor is never 0
};

/// Returns the optimizer's arguments at a rate.
OptimizerArguments at_rate(OptimizerArguments arguments, const nn::ParameterRate& rate);

/// Where an optimizer reads the scalars of a step, on its device; null: it does not.
struct OptimizerScalars {
  const float* clip_factor = nullptr;
  const LossScaleState* loss_scale = nullptr;
};

/// Enqueues an update of each chunk at its rate.
void optimizer_step(Device& device, Stream& stream, const std::vector<OptimizerChunk>& chunks,
                    const OptimizerArguments& arguments, const OptimizerScalars& scalars);

class RateRanges {
public:
  /// `rates`: by parameter of the layout; empty: all are trained and decay.
  RateRanges(const StorageLayout& layout, const FlatPlan& plan,
             std::span<const nn::ParameterRate> rates);

  /// Divides views into their trained ranges of one rate, from the last to the first. `first`:
  /// offset of the views in the flat space.
  std::vector<OptimizerChunk> cut(const OptimizerViews& views, std::size_t first) const;
  bool is_frozen(std::size_t first, std::size_t elements) const;

private:
  struct Range {
    std::size_t first = 0, end = 0;
    nn::ParameterRate rate;
  };
  std::vector<Range> ranges_; ///< contiguous; neighbours differ in rate
};

} // namespace troupe::training
