#include "core/config/config.hpp"
#include "importers/detail/importer.hpp"
#include "importers/detail/values.hpp"
#include "importers/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace troupe {

namespace {

namespace fs = std::filesystem;

bool has_one_of(const fs::path& folder, std::initializer_list<const char*> names) {
  std::error_code ignored;
  return std::ranges::any_of(names,
                             [&](const char* name) { return fs::exists(folder / name, ignored); });
}

/// Quotes a path for YAML, whatever characters it has.
std::string quoted(const fs::path& path) {
  std::string text = "'";
  for (const char letter : path.string())
    text += letter == '\'' ? "''" : std::string{letter};
  return text + "'";
}

/// Returns the value of data.tokenizer for the tokenizer next to the weights; empty if there is
/// none or several.
fs::path tokenizer_of(const fs::path& folder) {
  if (has_one_of(folder, {"tokenizer.json", "vocab.json", "encoder.json"}))
    return folder;
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator{folder, ignored})
    if (entry.path().extension() == ".tiktoken")
      found.push_back(entry.path());
  return found.size() == 1 ? found.front() : fs::path{};
}

/// Sets the folder's weights and tokenizer if they exist.
void set_files(Importer& importer, const fs::path& folder) {
  importer.set_default("data.dataset", "text", "the input of a language model");
  importer.set_default("data.root", "datasets/text", "not in the file: set yours");
  importer.hint("the file does not contain the texts and the training settings: set data.root, "
                "data.sequence_length, data.batch_size and train");
  if (has_one_of(folder, {"model.safetensors", "model.safetensors.index.json"}))
    importer.set_default("model.pretrained", quoted(folder), "the folder's weights");
  else
    importer.hint("the folder has no safetensors weights: the model is initialized randomly");
  if (const auto tokenizer = tokenizer_of(folder); !tokenizer.empty())
    importer.set_default("data.tokenizer", quoted(tokenizer), "the folder's tokenizer");
  else
    importer.hint("the folder has no tokenizer: set data.tokenizer");
}

/// Sets the default length, or the model's number of positions if that is smaller.
void set_length(Importer& importer, const ForeignDocument& document) {
  const ForeignContext context{.document = document, .world = {}};
  auto least = DataConfig{}.sequence_length;
  std::string_view of;
  for (const auto* const key : {"n_positions", "max_position_embeddings"})
    if (const auto most = whole_at(context, key); most && *most >= 1 && *most < least)
      least = *most, of = key;
  if (!of.empty())
    importer.set_default("data.sequence_length", fmt::format("{}", least), fmt::format("{}", of));
}

void hint_at_unknown(Importer& importer) {
  if (const auto count = importer.count(Fate::unknown); count > 0)
    importer.hint(
        fmt::format("{} unknown key{} left out: if one may affect the model, compare its outputs",
                    count, count == 1 ? " is" : "s are"));
}

} // namespace

Imported import_hugging_face(const fs::path& path, const ImportOptions& options,
                             const Catalogue& catalogue) {
  Importer importer{options, catalogue};
  std::error_code ignored;
  const auto file = fs::is_directory(path, ignored) ? path / "config.json" : path;
  const auto document = read_foreign_file(file, read_foreign_json);
  if (!document) {
    importer.add(document.error());
    return std::move(importer).finish("huggingface", file);
  }
  importer.require(*document, "model_type", "gpt2, llama");
  importer.apply(hugging_face_rows(), {.document = *document, .world = {}, .allows_unknown = true});
  const auto folder = file.parent_path();
  set_files(importer, folder.empty() ? fs::path{"."} : folder);
  set_length(importer, *document);
  hint_at_unknown(importer);
  return std::move(importer).finish("huggingface", file);
}

} // namespace troupe
