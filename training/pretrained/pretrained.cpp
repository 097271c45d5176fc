#include "training/pretrained/pretrained.hpp"

#include "core/checkpoint/safetensors.hpp"
#include "core/config/config.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "nn/models/models.hpp"
#include "training/hugging_face/config_file.hpp"
#include "training/hugging_face/weights.hpp"
#include "training/initial_state.hpp"
#include "training/pickle.hpp"
#include "training/pretrained/weights_match.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace troupe::training {

namespace {

/// Opened weights. Types are those of the file; all are F32 in a checkpoint folder.
struct Weights {
  std::vector<SafetensorsEntry> entries;
  StateSourcePtr state;
  MayDiffer may_differ = MayDiffer::stem_and_head;
};

Result<Weights> open_folder(const Config& config, const Graph& graph, const std::string& path) {
  Weights weights;
  if (is_hugging_face(path)) {
    TROUPE_TRY(auto opened, open_hugging_face(path, config, graph));
    return Weights{std::move(opened.entries), std::move(opened.state), MayDiffer::nothing};
  }
  TROUPE_TRY(weights.state, open_state(path));
  for (const auto& [name, shape] : weights.state->header().tensors)
    weights.entries.push_back({.name = name, .dtype = "F32", .shape = shape});
  return weights;
}

Result<Weights> open_weights(const Config& config, const Graph& graph, const std::string& path) {
  if (std::error_code error; std::filesystem::is_directory(path, error))
    return open_folder(config, graph, path);
  const auto reader = SafetensorsReader::open(path);
  if (!reader && reader.error().code == Errc::corrupt)
    if (const auto advice = pickle_advice(path))
      return fail(Errc::corrupt, "{}", *advice);
  if (!reader)
    return failure(reader.error());
  Weights weights{.entries = reader->entries(), .state = nullptr};
  TROUPE_TRY(weights.state, open_state(path));
  return weights;
}

/// Reads matched tensors from the file and draws the others from the seed.
class PretrainedState final : public StateSource {
public:
  PretrainedState(CheckpointHeader header, StateSourcePtr initial, StateSourcePtr file,
                  std::vector<std::optional<std::size_t>> numbers)
      : StateSource{std::move(header)}, initial_{std::move(initial)}, file_{std::move(file)},
        numbers_{std::move(numbers)} {}

  Status read(std::size_t tensor, std::size_t first, std::span<float> into) const override {
    return numbers_[tensor] ? file_->read(*numbers_[tensor], first, into)
                            : initial_->read(tensor, first, into);
  }

private:
  StateSourcePtr initial_; ///< tensors in the order of the header
  StateSourcePtr file_;
  std::vector<std::optional<std::size_t>> numbers_; ///< index in the file; none: initialized
};

StateSourcePtr join(const Graph& graph, std::uint64_t seed, const StateSourcePtr& file,
                    const WeightsMatch& match) {
  auto initial = initial_state(graph, seed);
  const auto& header = initial->header();
  std::vector<std::optional<std::size_t>> numbers(header.tensors.size());
  for (const auto& source : match.sources)
    if (source.entry)
      numbers[initial->find(graph[source.tensor].name).value()] = file->find(source.entry->name);
  return std::make_shared<const PretrainedState>(header, initial, file, std::move(numbers));
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
          fmt::format("{}: {}: newly initialized", graph[source.tensor].name, source.why));
  return notes;
}

Result<Pretrained> open(const Config& config, const Graph& graph, const std::string& path) {
  TROUPE_TRY(const auto weights, open_weights(config, graph, path));
  auto match = match_weights(graph, config.model.name, weights.entries, weights.may_differ);
  if (!match)
    return fail(match.error().code, "{}: {}", escaped(path), match.error().message);
  return Pretrained{join(graph, config.run.seed, weights.state, *match),
                    notes_of(graph, path, *match)};
}

} // namespace

Result<Pretrained> open_pretrained(const Config& config) {
  TROUPE_TRY(const auto graph,
             nn::build_model(config.model, {.input = nn::input_spec(config), .training = false}));
  auto opened = open(config, graph, *config.model.pretrained);
  if (!opened)
    return fail(Errc::invalid_input, "model.pretrained: {}", opened.error().message);
  return opened;
}

} // namespace troupe::training
