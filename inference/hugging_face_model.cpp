#include "inference/hugging_face_model.hpp"

#include "core/config/data_sets.hpp"
#include "core/config/load.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "importers/import.hpp"
#include "nn/models/models.hpp"
#include "training/hugging_face/weights.hpp"

namespace troupe::inference {

namespace {

namespace fs = std::filesystem;

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

} // namespace

Result<Config> config_of_hugging_face(const fs::path& folder, const training::SayLine& say,
                                      const Catalogue& catalogue) {
  const auto imported = import_hugging_face(folder, {}, catalogue);
  if (!imported.problems.empty())
    return failure(to_error(imported.problems));
  warn_of_unknown(imported, say);
  auto config =
      parse_config(imported.yaml, escaped(folder.string()), {}, Capabilities::all(), catalogue);
  if (!config)
    return failure(to_error(config.error()));
  if (config->data.tokenizer.path == byte_tokenizer && !has_byte_vocabulary(config->model))
    config->data.tokenizer.path = folder.string();
  return *std::move(config);
}

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

} // namespace troupe::inference
