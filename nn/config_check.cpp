#include "config_check.hpp"

#include "models/models.hpp"
#include "passes/autocast_regions.hpp"
#include "passes/choose_recompute.hpp"

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
  std::ranges::move(find_conflicts(config.train.recompute, forward->units),
                    std::back_inserter(found));
  return found;
}

} // namespace troupe::nn
