// Exports a folder for transformers' from_pretrained.
#include "core/atomic_file.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/tokenizer/open.hpp"
#include "inference/exports/exports.hpp"
#include "inference/exports/weights_file.hpp"
#include "inference/model_weights.hpp"
#include "nn/models/hugging_face.hpp"

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <array>
#include <fstream>

namespace troupe::inference {

namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

Result<nn::HuggingFaceForm> form_of(const SavedModel& model) {
  const auto& config = model.config;
  auto form = nn::hugging_face_form(config.model, nn::input_spec(config));
  if (!form)
    return fail(Errc::invalid_input, "{} has no Hugging Face equivalent; models that have one: {}",
                config.model.name, fmt::join(nn::hugging_face_models(config.model), ", "));
  return *std::move(form);
}

/// Returns the token that ends a text and also starts one: GPT-2 has a single such token.
Result<OrderedJson> end_tokens(const SavedModel& model) {
  const auto& data = model.config.data;
  auto tokenizer = data::open_tokenizer(data.tokenizer.path, data.tokenizer.split);
  if (!tokenizer)
    return fail(tokenizer.error().code, "data.tokenizer: {}", tokenizer.error().message);
  const auto end = (*tokenizer)->end_of_document();
  return OrderedJson{{"bos_token_id", end}, {"eos_token_id", end}};
}

const char* torch_name(DType dtype) {
  return dtype == DType::f16 ? "float16" : dtype == DType::bf16 ? "bfloat16" : "float32";
}

void set_member(OrderedJson& json, const std::string& name, const nn::HuggingFaceValue& value) {
  std::visit([&](const auto& one) { json[name] = one; }, value);
}

std::string config_text(const nn::HuggingFaceForm& form, const OrderedJson& ends, DType dtype) {
  OrderedJson json{{"architectures", OrderedJson::array({form.architecture})}};
  for (const auto& key : form.keys)
    if (key.is_written)
      set_member(json, key.name, key.value);
  for (const auto& [name, value] : form.written)
    set_member(json, name, value);
  json.update(ends);
  json["torch_dtype"] = torch_name(dtype);
  return json.dump(2) + "\n";
}

/// The folder under a temporary name. It is removed with its contents unless commit() renames it.
class StagingFolder {
public:
  static Result<StagingFolder> make(const fs::path& folder) {
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(folder, ignored)) && !fs::is_empty(folder, ignored))
      return fail(Errc::invalid_input, "{} already exists; write to another folder",
                  escaped(folder.string()));
    auto absolute = fs::absolute(folder).lexically_normal();
    if (!absolute.has_filename()) // "out/"
      absolute = absolute.parent_path();
    auto draft = temporary_name(absolute);
    TROUPE_TRY(make_folders(draft));
    return StagingFolder{folder, std::move(absolute), std::move(draft)};
  }
  StagingFolder(StagingFolder&& other) noexcept
      : shown_{std::move(other.shown_)}, folder_{std::move(other.folder_)}, draft_{std::exchange(
                                                                                other.draft_, {})} {
  }
  StagingFolder& operator=(StagingFolder&&) = delete;
  ~StagingFolder() {
    std::error_code ignored;
    if (!draft_.empty())
      fs::remove_all(draft_, ignored);
  }

  const fs::path& path() const { return draft_; }
  void add(ExportedFile file) {
    file.path = shown_ / file.path.filename();
    files_.push_back(std::move(file));
  }
  Status add(const char* name, const std::string& text) {
    TROUPE_TRY(write_file_atomically(draft_ / name, text));
    add({draft_ / name, text.size()});
    return {};
  }
  Result<std::vector<ExportedFile>> commit() {
    TROUPE_TRY(rename_folder_atomically(draft_, folder_));
    draft_.clear();
    return std::move(files_);
  }

private:
  StagingFolder(fs::path shown, fs::path folder, fs::path draft)
      : shown_{std::move(shown)}, folder_{std::move(folder)}, draft_{std::move(draft)} {}

  fs::path shown_, folder_, draft_; ///< as given; absolute; temporary, empty after commit
  std::vector<ExportedFile> files_;
};

constexpr std::uintmax_t most_tokenizer_bytes = std::uintmax_t{128} << 20;

/// Additional files that transformers may read.
constexpr std::array about_tokenizers = {"tokenizer_config.json", "special_tokens_map.json",
                                         "added_tokens.json"};

Result<ExportedFile> copy_one(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const bool regular = fs::is_regular_file(from, error);
  if (!regular || fs::file_size(from, error) > most_tokenizer_bytes)
    return fail(Errc::data, "{}: not a regular file of at most {} MiB", escaped(from.string()),
                most_tokenizer_bytes >> 20);
  TROUPE_TRY(auto file, AtomicFile::create(to));
  std::ifstream in{from, std::ios::binary};
  std::string chunk(std::size_t{1} << 20, '\0');
  while (in) {
    in.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    TROUPE_TRY(
        file.write(std::string_view{chunk}.substr(0, static_cast<std::size_t>(in.gcount()))));
  }
  if (!in.eof())
    return fail(Errc::io, "{}: cannot be read", escaped(from.string()));
  TROUPE_TRY(file.commit());
  return ExportedFile{to, file.bytes_written()};
}

/// Copies data.tokenizer's files into `folder`, under the names of data::files_of_tokenizer, so
/// that they can be opened there. Also copies files that only transformers reads. A tokenizer of
/// bytes has no files. Errors: those of files_of_tokenizer; data (not a regular file, or larger
/// than 128 MiB); no_space, io.
Result<std::vector<ExportedFile>> copy_tokenizer(const std::string& tokenizer,
                                                 const fs::path& folder) {
  TROUPE_TRY(auto files, data::files_of_tokenizer(tokenizer));
  std::error_code ignored;
  for (const auto* const name : about_tokenizers)
    if (const auto beside = files.empty() ? fs::path{} : files[0].path.parent_path() / name;
        fs::exists(beside, ignored))
      files.push_back({beside, name});
  std::vector<ExportedFile> copied;
  for (const auto& file : files) {
    TROUPE_TRY(copied.emplace_back(), copy_one(file.path, folder / file.name));
  }
  return copied;
}

} // namespace

Result<std::vector<ExportedFile>> export_hugging_face(const SavedModel& model,
                                                      const WeightsExport& options) {
  TROUPE_TRY(const auto form, form_of(model));
  TROUPE_TRY(const auto weights, weights_of(model));
  TROUPE_TRY(const auto ends, end_tokens(model));
  TROUPE_TRY(auto folder, StagingFolder::make(options.output));
  TROUPE_TRY(folder.add("config.json", config_text(form, ends, options.dtype)));
  TROUPE_TRY(folder.add("generation_config.json", ends.dump(2) + "\n"));
  TROUPE_TRY(auto written, write_weights(folder.path() / "model.safetensors", model, weights,
                                         {{{"format", "pt"}}, options.dtype, form.is_transposed}));
  folder.add(std::move(written));
  TROUPE_TRY(auto copied, copy_tokenizer(model.config.data.tokenizer.path, folder.path()));
  for (auto& file : copied)
    folder.add(std::move(file));
  return folder.commit();
}

} // namespace troupe::inference
