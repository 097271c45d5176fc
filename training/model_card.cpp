#include "training/model_card.hpp"

#include "core/config/data_sets.hpp"
#include "core/config/load.hpp"
#include "core/json.hpp"
#include "data/image_adapter.hpp"
#include "data/table_dataset.hpp"
#include "nn/config_check.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace troupe::training {

namespace {

using Json = nlohmann::json;
using Metadata = std::map<std::string, std::string>;

constexpr const char* config_key = "config";
constexpr const char* image_size_key = "image_size";

/// Returns the double with the shortest decimal form: 0.485, not 0.48500001430511475.
double shortest(float value) {
  return std::stod(fmt::format("{}", value));
}

InputNormalization of_images(const data::AugmentOptions& options) {
  InputNormalization found;
  for (std::size_t c = 0; c < static_cast<std::size_t>(options.channels); ++c) {
    found.mean.push_back(shortest(options.normalization.mean[c]));
    found.deviation.push_back(shortest(options.normalization.deviation[c]));
  }
  return found;
}

/// Returns the normalization that an adapter applies to its inputs.
InputNormalization normalization_of(const data::Adapter& adapter) {
  if (const auto* const images = adapter.images())
    return of_images(images->augment().options());
  if (const auto* const table = dynamic_cast<const data::TableDataset*>(&adapter.dataset()))
    return {table->columns().traits.standardization.mean,
            table->columns().traits.standardization.deviation};
  return {};
}

std::string to_text(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace); // paths may be invalid UTF-8
}

Metadata describe(const Config& config, const InputNormalization& input) {
  Metadata metadata{{config_key, to_yaml(config, nn::catalogue_of(config))},
                    {normalization_key, to_text({{"mean", input.mean}, {"std", input.deviation}})}};
  if (traits_of_data(config.data).sample == SampleKind::image)
    metadata.emplace(image_size_key, std::to_string(config.data.image_size));
  return metadata;
}

Json parse(const Metadata& metadata, const char* key) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? Json{} : parse_json(found->second).value_or(nullptr);
}

std::optional<std::vector<double>> numbers(const Json& json, const char* key) {
  if (!json.is_object() || !json.contains(key) || !json.at(key).is_array())
    return std::nullopt;
  std::vector<double> values;
  for (const auto& value : json.at(key)) {
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      return std::nullopt;
    values.push_back(value.get<double>());
  }
  return values;
}

std::optional<InputNormalization> normalization(const Json& json) {
  auto mean = numbers(json, "mean"), deviation = numbers(json, "std");
  if (!mean || !deviation || mean->size() != deviation->size() ||
      std::ranges::any_of(*deviation, [](double value) { return value <= 0; }))
    return std::nullopt;
  return InputNormalization{std::move(*mean), std::move(*deviation)};
}

std::vector<std::string> strings(const Json& json) {
  std::vector<std::string> names;
  if (json.is_array())
    for (const auto& name : json)
      names.push_back(name.is_string() ? name.get<std::string>() : to_text(name));
  return names;
}

} // namespace

Metadata describe_model(const Config& config, const data::Adapter& adapter) {
  return describe(config, normalization_of(adapter));
}

Metadata to_metadata(const Config& config, const ModelCard& card) {
  auto metadata = describe(config, card.input.value_or(InputNormalization{}));
  metadata.emplace(classes_key, to_text(card.class_names));
  return metadata;
}

ModelCard read_card(const Metadata& metadata) {
  ModelCard card{.class_names = strings(parse(metadata, classes_key)),
                 .input = normalization(parse(metadata, normalization_key))};
  if (const auto config = metadata.find(config_key); config != metadata.end())
    card.config = config->second;
  return card;
}

} // namespace troupe::training
