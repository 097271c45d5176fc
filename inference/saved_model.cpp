#include "inference/saved_model.hpp"

#include "core/checkpoint/given_file.hpp"
#include "core/config/augmentation.hpp"
#include "core/config/data_sets.hpp"
#include "core/config/load.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/normalization.hpp"
#include "importers/import.hpp"
#include "inference/find_weights.hpp"
#include "nn/models/models.hpp"
#include "training/hugging_face/config_file.hpp"
#include "training/hugging_face/weights.hpp"
#include "training/pickle.hpp"
#include "training/platforms/platforms.hpp"
#include "training/without_training.hpp"

#include <fstream>

namespace troupe::inference {

namespace {

namespace fs = std::filesystem;

Result<Config> checked(ConfigResult config) {
  if (!config)
    return failure(to_error(config.error()));
  return *std::move(config);
}

/// Loads a config that need not be a run's. It may lack data.root, because files are predicted
/// without the data set.
Result<Config> named_config(const fs::path& path, const std::vector<std::string>& overrides,
                            const Catalogue& models) {
  const std::vector<GivenValue> given = {{"data.root", "data.root is not set", "the default"}};
  auto config = load_config(path, {}, Capabilities::all(), models, given);
  if (!config) // the overrides may correct it; a valid config gets them in used_config
    config = load_config(path, overrides, Capabilities::all(), models, given);
  return checked(std::move(config));
}

Result<Config> trained_config(const SavedModelOptions& options, const FoundWeights& found,
                              const training::ModelCard& card, const Catalogue& models) {
  if (options.config)
    return named_config(*options.config, options.overrides, models);
  if (card.config)
    return checked(parse_config(*card.config,
                                fmt::format("{} (config)", escaped(found.weights.string())), {},
                                Capabilities::all(), models));
  if (found.config)
    return checked(load_config(*found.config, {}, Capabilities::all(), models));
  const auto folder = found.weights.parent_path();
  if (training::is_hugging_face(folder.empty() ? "." : folder))
    return fail(Errc::invalid_input,
                "{} does not record its model, but config.json next to it does; pass the folder "
                "instead of the file",
                escaped(found.weights.string()));
  return fail(Errc::invalid_input,
              "{} does not record its model; pass a config (--config FILE) with the section model, "
              "data.dataset and data.image_size",
              escaped(found.weights.string()));
}

Result<Config> used_config(Config config, const std::vector<std::string>& overrides,
                           const Catalogue& models) {
  return checked(parse_config(to_yaml(training::without_training(std::move(config)), models),
                              "the model's config", overrides, training::machine_capabilities(),
                              models));
}

Result<StateSourcePtr> open_weights(const fs::path& path) {
  auto weights = open_state(path);
  if (!weights && weights.error().code == Errc::corrupt)
    if (const auto advice = training::pickle_advice(path))
      return fail(Errc::invalid_input, "{}", *advice);
  if (!weights)
    return failure(as_wrong_input(std::move(weights).error()));
  return weights;
}

Result<std::vector<std::string>> read_names(const fs::path& path) {
  std::ifstream in{path};
  std::vector<std::string> names;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r'))
      line.pop_back();
    names.push_back(std::move(line));
  }
  if (in.bad() || !in.eof())
    return fail(Errc::invalid_input, "{}: the class names cannot be read", escaped(path.string()));
  return names;
}

/// Returns the class names of the data set; none if its files are missing.
std::vector<std::string> names_of_data(const Config& config) {
  if (traits_of_data(config.data).sample == SampleKind::tokens)
    return {}; // opening texts may tokenize all of them
  for (const auto split : {data::Split::test, data::Split::train})
    if (const auto adapter = data::open_adapter(config, split))
      return (*adapter)->dataset().class_names();
  return {};
}

Result<std::vector<std::string>> class_names(const SavedModelOptions& options, const Config& config,
                                             std::vector<std::string> of_card) {
  const auto classes = config.model.num_classes;
  if (options.class_names) {
    TROUPE_TRY(auto names, read_names(*options.class_names));
    if (std::ssize(names) != classes)
      return fail(Errc::invalid_input, "{}: {} names, but the model has {} classes",
                  escaped(options.class_names->string()), names.size(), classes);
    return names;
  }
  if (std::ssize(of_card) == classes)
    return of_card;
  auto names = names_of_data(config);
  if (std::ssize(names) != classes)
    names.clear();
  return names;
}

/// Returns the default normalization of the data set's images. A table's standardization is
/// unknown.
std::optional<training::InputNormalization> default_input(const Config& config) {
  if (traits_of_data(config.data).sample != SampleKind::image)
    return config.data.table.standardize ? std::nullopt
                                         : std::optional{training::InputNormalization{}};
  const auto default_value = data::normalization_of(config.data);
  training::InputNormalization input;
  for (std::size_t c = 0; c < static_cast<std::size_t>(config.model.in_channels); ++c) {
    input.mean.push_back(static_cast<double>(default_value.mean[c]));
    input.deviation.push_back(static_cast<double>(default_value.deviation[c]));
  }
  return input;
}

/// Whether there is one value per channel (images) or per feature (tables).
bool fits(const training::InputNormalization& input, const Config& config) {
  if (traits_of_data(config.data).sample == SampleKind::image)
    return std::ssize(input.mean) == config.model.in_channels;
  return input.mean.empty() || input.mean.size() == config.data.table.features.size();
}

void warn_of_unknown(const Imported& imported, const training::SayLine& say) {
  for (const auto& line : imported.lines)
    if (say && line.fate == Fate::unknown)
      say(line.to_string());
}

/// Whether the vocabulary is one token for each byte, and the end of a document.
bool has_byte_vocabulary(const ModelConfig& model) {
  constexpr std::int64_t bytes = 256;
  return model.vocabulary == bytes + 1;
}

/// Returns the config that `troupe config import huggingface` makes of the folder. If the folder
/// has no tokenizer, data.tokenizer names the folder, so that opening it reports what is missing; a
/// vocabulary of bytes needs none. Errors (invalid_input): those of the import.
Result<Config> config_of_hugging_face(const fs::path& folder, const training::SayLine& say,
                                      const Catalogue& catalogue) {
  const auto imported = import_hugging_face(folder, {}, catalogue);
  if (!imported.problems.empty())
    return failure(to_error(imported.problems));
  warn_of_unknown(imported, say);
  TROUPE_TRY(auto config, checked(parse_config(imported.yaml, escaped(folder.string()), {},
                                               Capabilities::all(), catalogue)));
  if (config.data.tokenizer.path == byte_tokenizer && !has_byte_vocabulary(config.model))
    config.data.tokenizer.path = folder.string();
  return config;
}

/// Returns the weights that the config's model takes from the folder. Errors: those of
/// open_hugging_face; invalid_input for a tensor of an unsupported type.
Result<StateSourcePtr> weights_of_hugging_face(const fs::path& folder, const Config& config) {
  TROUPE_TRY(const auto graph,
             nn::build_model(config.model, {.input = nn::input_spec(config), .training = false}));
  TROUPE_TRY(const auto opened, training::open_hugging_face(folder, config, graph));
  for (const auto& entry : opened.entries)
    if (!opened.state->find(entry.name))
      return fail(Errc::invalid_input, "{}: {}: {} in the file, expected F32, F16, BF16 or F64",
                  escaped(folder.string()), echoed(entry.name), echoed(entry.dtype));
  return opened.state;
}

Result<SavedModel> open_hugging_face_folder(const SavedModelOptions& options,
                                            const Catalogue& catalogue) {
  TROUPE_TRY(auto trained,
             options.config
                 ? checked(load_config(*options.config, {}, Capabilities::all(), catalogue))
                 : config_of_hugging_face(options.path, options.say, catalogue));
  TROUPE_TRY(auto config, used_config(std::move(trained), options.overrides, catalogue));
  TROUPE_TRY(auto weights, weights_of_hugging_face(options.path, config));
  return SavedModel{
      .file = options.path, .config = std::move(config), .weights = std::move(weights)};
}

} // namespace

Result<SavedModel> open_saved_model(const SavedModelOptions& options, const Catalogue& catalogue) {
  if (training::is_hugging_face(options.path))
    return open_hugging_face_folder(options, catalogue);
  TROUPE_TRY(const auto found, find_weights(options.path));
  TROUPE_TRY(auto weights, open_weights(found.weights));
  auto card = training::read_card(weights->header().metadata);
  TROUPE_TRY(auto trained, trained_config(options, found, card, catalogue));
  TROUPE_TRY(auto config, used_config(std::move(trained), options.overrides, catalogue));
  auto trained_names = card.class_names;
  TROUPE_TRY(card.class_names, class_names(options, config, std::move(card.class_names)));
  if (!card.input || !fits(*card.input, config))
    card.input = default_input(config);
  return SavedModel{found.weights, std::move(config), std::move(card), std::move(weights),
                    std::move(trained_names)};
}

} // namespace troupe::inference
