/// The state of loss scaling after a step (core/device/loss_scale.hpp), part of other records.
#pragma once

#include "metrics/records/field.hpp"

#include <cstdint>
#include <optional>
#include <tuple>

namespace troupe::metrics {

/// Empty without loss scaling. Counts are of the whole run.
struct LossScaling {
  std::optional<double> loss_scale = {};
  std::optional<std::int64_t> skipped_steps = {}; ///< not finite, so the scale was lowered
  std::optional<std::int64_t> scale_growths = {}; ///< the scale was raised
};

/// registry/registry.cpp exports the scale, which is 1 without loss scaling.
template <>
inline constexpr auto fields_of<LossScaling> = std::tuple{
    field("loss_scale", &LossScaling::loss_scale,
          {.if_empty = IfEmpty::omit, .tag = "train/loss_scale"}),
    field("skipped_steps", &LossScaling::skipped_steps,
          {.if_empty = IfEmpty::omit,
           .metric = {"troupe_skipped_steps_total", names::counter, names::leader,
                      "Steps of the run that were skipped because gradients were not finite; each "
                      "one lowered the loss scale"},
           .is_total = true}),
    field("loss_scale_growths", &LossScaling::scale_growths,
          {.if_empty = IfEmpty::omit,
           .metric = {"troupe_loss_scale_growths_total", names::counter, names::leader,
                      "Number of times that the run raised the loss scale"},
           .is_total = true})};

} // namespace troupe::metrics
