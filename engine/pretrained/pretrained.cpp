#include "pretrained.hpp"

#include "pickle.hpp"
#include "weights_match.hpp"

#include "troupe/core/checkpoint/widened.hpp"
#include "troupe/core/config/config.hpp"
#include "troupe/core/fail.hpp"
#include "troupe/core/printable.hpp"
#include "troupe/nn/initialize.hpp"
#include "troupe/nn/models/models.hpp"

#include <algorithm>
#include <deque>
#include <memory>

namespace troupe::engine {

namespace {

/// What the tensors of a checkpoint point into.
using Values = std::deque<std::vector<float>>;

Result<SafetensorsReader> open(const std::string& path) {
  auto reader = SafetensorsReader::open(path);
  if (!reader && reader.error().code == Errc::corrupt)
    if (const auto advice = pickle_advice(path))
      return fail(Errc::corrupt, "{}", *advice);
  if (reader && is_checkpoint(*reader))
    TROUPE_TRY(verify_checkpoint(*reader));
  return reader;
}

Result<std::vector<float>> values_of(const Config& config, const SafetensorsReader& reader,
                                     const Tensor& tensor, const SafetensorsEntry* entry) {
  if (!entry) {
    TROUPE_TRY(auto initial, nn::initial_value(tensor, config.run.seed));
    return std::move(initial.values);
  }
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
  TROUPE_TRY(read_widened(reader, *entry, 0, values));
  return values;
}

Result<Checkpoint> fill(const Config& config, const Graph& graph, const SafetensorsReader& reader,
                        const WeightsMatch& match) {
  const auto owner = std::make_shared<Values>();
  Checkpoint checkpoint;
  for (const auto& source : match.sources) {
    const auto& tensor = graph[source.tensor];
    TROUPE_TRY(auto values, values_of(config, reader, tensor, source.entry));
    checkpoint.tensors.push_back(
        {tensor.name, tensor.shape, owner->emplace_back(std::move(values))});
  }
  checkpoint.storage = {owner, reinterpret_cast<const std::byte*>(owner.get())};
  return checkpoint;
}

std::vector<std::string> notes_of(const Graph& graph, const std::string& path,
                                  const WeightsMatch& match) {
  const auto taken = std::ranges::count_if(
      match.sources, [](const auto& source) { return source.entry != nullptr; });
  std::vector<std::string> notes = {fmt::format(
      "model.pretrained: {} of {} tensors are from {}{}", taken, match.sources.size(),
      escaped(path),
      match.prefix.empty() ? ""
                           : fmt::format(", without the prefix \"{}\"", echoed(match.prefix)))};
  const auto rounded = std::ranges::count_if(match.sources, [](const auto& source) {
    return source.entry && source.entry->dtype == "F64";
  });
  if (rounded > 0)
    notes.push_back(fmt::format("model.pretrained: {} of them are rounded from F64", rounded));
  for (const auto& source : match.sources)
    if (!source.entry)
      notes.push_back(
          fmt::format("{}: {}: initialized anew", graph[source.tensor].name, source.why));
  return notes;
}

Result<Pretrained> read(const Config& config, const Graph& graph, const std::string& path) {
  TROUPE_TRY(const auto reader, open(path));
  auto match = match_weights(graph, config.model.name, reader.entries());
  if (!match)
    return fail(match.error().code, "{}: {}", escaped(path), match.error().message);
  TROUPE_TRY(auto checkpoint, fill(config, graph, reader, *match));
  return Pretrained{std::move(checkpoint), notes_of(graph, path, *match)};
}

} // namespace

Result<Pretrained> read_pretrained(const Config& config) {
  TROUPE_TRY(const auto graph,
             nn::build_model(config.model, {.input = nn::input_spec(config), .training = false}));
  auto read_in = read(config, graph, *config.model.pretrained);
  if (!read_in)
    return fail(Errc::invalid_input, "model.pretrained: {}", read_in.error().message);
  return read_in;
}

} // namespace troupe::engine
