#include "config_check.hpp"

#include "divisible.hpp"
#include "models/models.hpp"
#include "passes/autocast_regions.hpp"
#include "unit_names.hpp"

#include "troupe/core/config/config.hpp"

#include <algorithm>
#include <iterator>

namespace troupe::nn {

ConfigConflicts find_conflicts(const Config& config) {
  // Names are those of any batch; evaluation takes one of a single image.
  const auto forward =
      build_model(config.model, {.image_size = config.data.image_size, .training = false});
  if (!forward)
    return {};
  auto found = find_conflicts(config.model.autocast_off, *forward);
  std::ranges::move(unknown_units("train.recompute", config.train.recompute.names, forward->units),
                    std::back_inserter(found));
  std::ranges::move(
      unknown_units("parallel.wrap.units", config.parallel.wrap.units, forward->units),
      std::back_inserter(found));
  std::ranges::move(too_much_to_divide(config, *forward), std::back_inserter(found));
  return found;
}

} // namespace troupe::nn
