#include "inference/model_weights.hpp"

#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/widened.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "nn/models/models.hpp"
#include "training/pretrained/weights_match.hpp"

#include <fmt/ranges.h>

namespace troupe::inference {

Result<ModelWeights> ModelWeights::match(const Graph& graph, const std::string& model,
                                         StateSourcePtr source) {
  const auto& tensors = source->header().tensors;
  std::vector<SafetensorsEntry> entries; // a source gives all of them as fp32
  entries.reserve(tensors.size());
  for (const auto& tensor : tensors)
    entries.push_back({.name = tensor.name, .dtype = "F32", .shape = tensor.shape});
  TROUPE_TRY(const auto matched,
             training::match_weights(graph, model, entries, training::MayDiffer::nothing));
  ModelWeights weights;
  for (const auto& [tensor, entry, why] : matched.sources) {
    weights.names_.push_back(graph[tensor].name);
    weights.places_.emplace(graph[tensor].name, static_cast<std::size_t>(entry - entries.data()));
  }
  weights.source_ = std::move(source);
  return weights;
}

void ModelWeights::fold(const std::vector<nn::BatchNormFolding>& foldings) {
  for (const auto& folding : foldings) {
    foldings_.emplace(folding.weight, folding);
    foldings_.emplace(folding.shift, folding);
  }
}

Result<std::vector<float>> ModelWeights::read(std::string_view name) const {
  TROUPE_TRY(auto values, read_stored(name));
  const auto found = foldings_.find(name);
  if (found == foldings_.end())
    return values;
  const auto& folding = found->second;
  TROUPE_TRY(const auto scale, read_stored(folding.scale));
  TROUPE_TRY(const auto variance, read_stored(folding.variance));
  if (name == folding.weight) {
    folding.fold_weight(values, scale, variance);
    return values;
  }
  TROUPE_TRY(const auto mean, read_stored(folding.mean));
  folding.fold_bias(values, scale, mean, variance);
  return values;
}

Result<std::vector<float>> ModelWeights::read_stored(std::string_view name) const {
  const auto found = places_.find(name);
  if (found == places_.end())
    return fail(Errc::internal, "{} is not a tensor of the model", name);
  std::vector<float> values(
      static_cast<std::size_t>(source_->header().tensors[found->second].shape.elements()));
  TROUPE_TRY(source_->read(found->second, 0, values));
  return values;
}

const Shape& ModelWeights::shape(std::string_view name) const {
  return source_->header().tensors[places_.find(name)->second].shape;
}

namespace {

/// Returns an error line for each tensor of the model that exists in the file with an unsupported
/// type.
std::vector<std::string> unread_tensors(const std::filesystem::path& file, const Graph& graph) {
  const auto reader = SafetensorsReader::open(file);
  std::vector<std::string> unread;
  for (const auto& entry : reader ? reader->entries() : std::vector<SafetensorsEntry>{})
    if (!is_widened(entry.dtype) && graph.find(entry.name))
      unread.push_back(fmt::format("{}: {} in the file, expected F32, F16, BF16 or F64", entry.name,
                                   entry.dtype));
  return unread;
}

} // namespace

Result<ModelWeights> weights_of(const SavedModel& model) {
  const auto& config = model.config;
  TROUPE_TRY(const auto graph,
             nn::build_model(config.model, {.input = nn::input_spec(config), .training = false}));
  auto weights = ModelWeights::match(graph, config.model.name, model.weights);
  if (weights)
    return weights;
  const auto unread = unread_tensors(model.file, graph);
  return fail(weights.error().code, "{}: {}", escaped(model.file.string()),
              unread.empty() ? weights.error().message
                             : fmt::format("{}", fmt::join(unread, "; ")));
}

} // namespace troupe::inference
