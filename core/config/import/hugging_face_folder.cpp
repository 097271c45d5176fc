#include "../../printable.hpp"
#include "detail/importer.hpp"
#include "detail/values.hpp"
#include "import.hpp"

#include <fmt/format.h>

#include <algorithm>

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

/// The folder's weights and its tokenizer, where they are there.
void set_files(Importer& importer, const fs::path& folder) {
  importer.set_usual("data.dataset", "text", "what a language model reads");
  importer.set_usual("data.root", "data/text", "the file does not say it: put yours");
  importer.hint("the file does not say what is trained on which texts: data.root, "
                "data.sequence_length, data.batch_size, train");
  if (has_one_of(folder, {"model.safetensors", "model.safetensors.index.json"}))
    importer.set_usual("model.pretrained", quoted(folder), "its weights");
  else
    importer.hint("there are no weights in safetensors beside it: the model begins anew");
  if (has_one_of(folder, {"tokenizer.json", "vocab.json", "encoder.json"}))
    importer.set_usual("data.tokenizer", quoted(folder), "its tokenizer");
  else
    importer.hint("there is no tokenizer beside it: data.tokenizer");
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
  importer.apply(hugging_face_rows(), {.document = *document, .world = {}});
  const auto folder = file.parent_path();
  set_files(importer, folder.empty() ? fs::path{"."} : folder);
  return std::move(importer).finish(
      fmt::format("# Made by troupe config import huggingface of {}.\n", escaped(file.string())));
}

} // namespace troupe
