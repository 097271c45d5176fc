#include "nn/models/input.hpp"

#include "core/config/config.hpp"
#include "core/config/custom_data_set.hpp"
#include "core/config/data_sets.hpp"

#include <iterator>

namespace troupe::nn {

InputSpec image_input(std::int64_t size, std::int64_t channels) {
  return {.sample = {size, size, channels}};
}

InputSpec input_spec(const Config& config) {
  const auto& data = config.data;
  if (traits_of_data(data).sample == SampleKind::image)
    return image_input(data.image_size, config.model.in_channels);
  if (traits_of_data(data).sample == SampleKind::tokens)
    return {.name = "tokens",
            .sample = {data.sequence_length},
            .target = "targets",
            .vocabulary = data.tokenizer.path == byte_tokenizer
                              ? byte_vocabulary
                              : config.model.vocabulary.value_or(1)};
  const auto* const own = custom_data_set(data);
  InputSpec input{.name = "features",
                  .sample = own && own->sample ? own->sample(data)
                                               : Shape{std::ssize(data.table.features)}};
  if (config.model.loss == LossKind::mean_squared_error)
    input.target = "targets", input.target_kind = TargetKind::values;
  return input;
}

} // namespace troupe::nn
