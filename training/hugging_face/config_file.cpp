#include "training/hugging_face/config_file.hpp"

#include "core/checkpoint/manifest.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

namespace troupe::training {

namespace {

namespace fs = std::filesystem;

constexpr const char* config_json = "config.json";

std::string json_text(const nn::HuggingFaceValue& value) {
  return std::visit([](const auto& one) { return nlohmann::json(one).dump(); }, value);
}

bool is_number(const ForeignEntry& entry, double value) {
  double there = 0;
  const auto* const end = entry.text.data() + entry.text.size();
  const auto [at, error] = std::from_chars(entry.text.data(), end, there);
  return entry.kind == ForeignKind::number && error == std::errc{} && at == end && there == value;
}

bool says(const ForeignEntry& entry, const nn::HuggingFaceKey& key) {
  if (const auto* const text = std::get_if<std::string>(&key.value))
    return entry.kind == ForeignKind::text &&
           (entry.text == *text || std::ranges::count(key.same, entry.text) > 0);
  if (const auto* const reference = std::get_if<bool>(&key.value))
    return entry.kind == ForeignKind::boolean && entry.text == json_text(*reference);
  if (const auto* const whole = std::get_if<std::int64_t>(&key.value))
    return is_number(entry, static_cast<double>(*whole));
  return is_number(entry, std::get<double>(key.value));
}

std::string shown_value(const ForeignEntry& entry) {
  switch (entry.kind) {
  case ForeignKind::text:
    return fmt::format("\"{}\"", echoed(entry.text));
  case ForeignKind::list:
    return "a list";
  case ForeignKind::mapping:
    return "{}";
  default:
    return echoed(entry.text);
  }
}

std::string value_here(const nn::HuggingFaceKey& key) {
  return json_text(key.value) + " here" + (key.ours.empty() ? "" : fmt::format(" ({})", key.ours));
}

/// Collects one line for each key whose value in the file differs. A null counts as a missing key.
class Comparison {
public:
  explicit Comparison(const ForeignDocument& document) : document_{document} {}

  void compare(const nn::HuggingFaceKey& key) {
    bool is_there = compare(key.name, key);
    for (const auto& name : key.elsewhere)
      is_there = compare(name, key) || is_there;
    if (is_there || key.default_value == key.value)
      return;
    const auto meant =
        key.default_value ? fmt::format(", which means {}", json_text(*key.default_value)) : "";
    lines_ += fmt::format("\n  {}: not in the file{}; {}", key.name, meant, value_here(key));
  }
  const std::string& lines() const { return lines_; }

private:
  bool compare(const std::string& name, const nn::HuggingFaceKey& key) {
    const auto* const entry = document_.find(name);
    if (!entry || entry->kind == ForeignKind::null)
      return false;
    if (!says(*entry, key))
      lines_ +=
          fmt::format("\n  {}: {} in the file, {}", name, shown_value(*entry), value_here(key));
    return true;
  }

  const ForeignDocument& document_;
  std::string lines_;
};

} // namespace

Result<ForeignDocument> read_small_json(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) // opening a pipe would block
    return fail(Errc::invalid_input, "{} is not a regular file", escaped(path.string()));
  auto document = read_foreign_file(path, read_foreign_json);
  if (!document)
    return failure(to_error(document.error()));
  return *std::move(document);
}

bool is_hugging_face(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / config_json, ignored) && !fs::exists(folder / manifest_name, ignored);
}

Status check_config_file(const fs::path& folder, const std::string& model,
                         const nn::HuggingFaceForm& form) {
  TROUPE_TRY(const auto document, read_small_json(folder / config_json));
  Comparison comparison{document};
  for (const auto& key : form.keys)
    comparison.compare(key);
  if (comparison.lines().empty())
    return {};
  return fail(Errc::invalid_input, "{} does not describe this {}:{}",
              escaped((folder / config_json).string()), model, comparison.lines());
}

} // namespace troupe::training
