#include "core/checkpoint/manifest.hpp"

#include "core/atomic_file.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/git_lfs.hpp"
#include "core/json.hpp"
#include "core/sha256.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

namespace troupe {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* version_key = "troupe_checkpoint";
constexpr const char* checksum_key = "checksum"; // SHA-256 of the rest, without white space
constexpr int version = 2;                       // 1 was a single file
constexpr std::uintmax_t most_bytes = std::uintmax_t{4} << 20;

/// Returns a member of a JSON object as T; nullopt if it is missing or has another type.
template <class T>
std::optional<T> member(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end())
    return std::nullopt;
  if constexpr (std::is_integral_v<T>) {
    if (!found->is_number_unsigned() ||
        found->template get<std::uint64_t>() > std::uint64_t{INT64_MAX})
      return std::nullopt;
  } else if (!found->is_string()) {
    return std::nullopt;
  }
  return found->template get<T>();
}

bool is_digest(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Whether the name stays inside the folder: names are untrusted.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' &&
         std::ranges::none_of(name, [](unsigned char c) { return c == '/' || c < ' '; });
}

std::optional<FileRecord> file_of(const Json& json) {
  if (!json.is_object())
    return std::nullopt;
  const auto name = member<std::string>(json, "name"), digest = member<std::string>(json, "sha256");
  const auto bytes = member<std::uint64_t>(json, "bytes");
  if (!name || !bytes || !digest || !is_plain_name(*name) || !is_digest(*digest))
    return std::nullopt;
  return FileRecord{*name, *bytes, *digest};
}

/// Returns the problem, to follow the file's name; empty if there is none.
std::string read_files(const Json& json, std::vector<FileRecord>& files) {
  const auto list = json.find("files");
  if (list == json.end() || !list->is_array() || list->empty())
    return "it has no list of \"files\"";
  std::set<std::string> names;
  for (const auto& entry : *list) {
    const auto file = file_of(entry);
    if (!file)
      return fmt::format("file {} of \"files\" has no name, bytes and sha256", files.size());
    if (!names.insert(file->name).second)
      return fmt::format("it lists the file {} twice", echoed(file->name));
    files.push_back(*file);
  }
  return {};
}

std::string read_metadata(const Json& json, std::map<std::string, std::string>& metadata) {
  const auto given = json.find("metadata");
  if (given == json.end() || !given->is_object())
    return "it has no \"metadata\"";
  for (const auto& [key, value] : given->items()) {
    if (!value.is_string())
      return fmt::format("metadata \"{}\" is not text", echoed(key));
    metadata[key] = value.get<std::string>();
  }
  return {};
}

/// Replaces invalid UTF-8, because names of classes may not be UTF-8.
std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string checksum_of(Json json) {
  json.erase(checksum_key);
  Sha256 sha;
  sha.update(text_of(json, -1));
  return sha.hex_digest();
}

std::string read(const Json& json, Manifest& manifest) {
  if (!json.is_object())
    return "it is not a JSON object";
  if (member<std::int64_t>(json, version_key) != version)
    return fmt::format("it does not contain \"{}\": {}", version_key, version);
  const auto step = member<std::int64_t>(json, "step"), epoch = member<std::int64_t>(json, "epoch");
  if (!step || !epoch)
    return "step or epoch is not a whole number, at least 0";
  if (member<std::string>(json, checksum_key) != checksum_of(json))
    return "its checksum does not match: it is damaged";
  manifest.step = *step;
  manifest.epoch = *epoch;
  const auto wrong = read_metadata(json, manifest.metadata);
  return wrong.empty() ? read_files(json, manifest.files) : wrong;
}

Result<std::string> read_text(const fs::path& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error)
    return fail(error == std::errc::no_such_file_or_directory ? Errc::corrupt : Errc::io, "{}: {}",
                escaped(path.string()), error.message());
  if (bytes > most_bytes)
    return fail(Errc::corrupt, "{}: it has {} bytes, but a manifest has at most {}",
                escaped(path.string()), bytes, most_bytes);
  std::ifstream file{path, std::ios::binary};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  if (!file)
    return fail(Errc::io, "cannot read {}", escaped(path.string()));
  if (is_git_lfs_pointer(text))
    return fail(Errc::invalid_input, "{}: {}", escaped(path.string()), git_lfs_advice);
  return text;
}

} // namespace

Status write_manifest(const fs::path& folder, const Manifest& manifest) {
  Json files = Json::array();
  for (const auto& file : manifest.files)
    files.push_back({{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}});
  Json json = {{version_key, version},
               {"step", manifest.step},
               {"epoch", manifest.epoch},
               {"metadata", manifest.metadata},
               {"files", files}};
  json[checksum_key] = checksum_of(json);
  return write_file_atomically(folder / manifest_name, text_of(json, 2) + "\n");
}

Result<Manifest> read_manifest(const fs::path& folder) {
  const auto path = folder / manifest_name;
  TROUPE_TRY(const auto text, read_text(path));
  const auto json = parse_json(text, path);
  if (!json)
    return fail(Errc::corrupt, "{}", json.error().message);
  Manifest manifest;
  if (const auto wrong = read(*json, manifest); !wrong.empty())
    return fail(Errc::corrupt, "{}: {}", escaped(path.string()), wrong);
  return manifest;
}

} // namespace troupe
