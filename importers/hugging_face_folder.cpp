#include "core/config/config.hpp"
#include "core/escape.hpp"
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

/// As YAML has a text that may be anything.
std::string quoted(const fs::path& path) {
  std::string text = "'";
  for (const char letter : path.string())
    text += letter == '\'' ? "''" : std::string{letter};
  return text + "'";
}

/// By which data.tokenizer names what lies beside the weights; empty: there is none, or several.
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

/// The folder's weights and its tokenizer, where they are there.
void set_files(Importer& importer, const fs::path& folder) {
  importer.set_default("data.dataset", "text", "what a language model reads");
  importer.set_default("data.root", "datasets/text", "the file does not say it: put yours");
  importer.hint("the file does not say what is trained on which texts: data.root, "
                "data.sequence_length, data.batch_size, train");
  if (has_one_of(folder, {"model.safetensors", "model.safetensors.index.json"}))
    importer.set_default("model.pretrained", quoted(folder), "its weights");
  else
    importer.hint("there are no weights in safetensors beside it: the model begins anew");
  if (const auto tokenizer = tokenizer_of(folder); !tokenizer.empty())
    importer.set_default("data.tokenizer", quoted(tokenizer), "its tokenizer");
  else
    importer.hint("there is no tokenizer beside it: data.tokenizer");
}

/// The default length, or as many tokens as the model has positions for, if those are fewer.
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
    importer.hint(fmt::format("{} unknown key{} left out: compare the model's outputs if one may "
                              "change what it computes",
                              count, count == 1 ? " is" : "s are"));
}

} // namespace

Imported import_hugging_face(const fs::path& path, const ImportOptions& options,
                             const Catalogue& catalogue) {
  Importer importer{options, catalogue};
  std::error_code ignored;
  const auto file = fs::is_directory(path, ignored) ? path / "config.json" : path;
  const auto document = read_foreign_file(file, ForeignFormat::json);
  if (!document) {
    for (const auto& problem : document.error())
      importer.add(problem);
    return std::move(importer).finish({});
  }
  if (!document->find("model_type"))
    importer.add({.source = document->source,
                  .key = "model_type",
                  .what = "is missing",
                  .allowed = "gpt2, llama"});
  importer.apply(hugging_face_rows(), {.document = *document, .world = {}, .allows_unknown = true});
  const auto folder = file.parent_path();
  set_files(importer, folder.empty() ? fs::path{"."} : folder);
  set_length(importer, *document);
  hint_at_unknown(importer);
  return std::move(importer).finish(
      fmt::format("# Made by troupe config import huggingface of {}.\n", escaped(file.string())));
}

} // namespace troupe
