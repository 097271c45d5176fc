#include "input.hpp"

#include "troupe/core/config/config.hpp"
#include "troupe/core/config/data_sets.hpp"

#include <iterator>

namespace troupe::nn {

InputSpec image_input(std::int64_t size, std::int64_t channels) {
  return {.sample = {size, size, channels}};
}

InputSpec input_spec(const Config& config) {
  const auto& data = config.data;
  if (facts_of_data(data.dataset).sample == SampleKind::image)
    return image_input(data.image_size, config.model.in_channels);
  InputSpec table{.name = "features", .sample = {std::ssize(data.features)}};
  if (config.model.loss == "mean_squared_error")
    table.target = "targets", table.target_kind = TargetKind::values;
  return table;
}

} // namespace troupe::nn
