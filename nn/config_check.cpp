#include "config_check.hpp"

#include "models/models.hpp"
#include "passes/autocast_regions.hpp"

namespace troupe::nn {

ConfigConflicts find_conflicts(const Config& config) {
  // Names are those of any batch; evaluation takes one of a single image.
  const auto forward =
      build_model(config.model, {.image_size = config.data.image_size, .training = false});
  return forward ? find_conflicts(config.model.autocast_off, *forward) : ConfigConflicts{};
}

} // namespace troupe::nn
