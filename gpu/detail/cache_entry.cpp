#include "gpu/detail/cache_entry.hpp"

#include "core/atomic_file.hpp"
#include "core/fail.hpp"
#include "core/json.hpp"
#include "core/sha256.hpp"

#include <fstream>
#include <iterator>

namespace troupe::gpu {

namespace {

/// Version of the file format; files with another version count as missing.
constexpr int version = 2;

std::filesystem::path entry_path(const std::filesystem::path& folder, const std::string& key) {
  return folder / (digest(key).substr(0, 32) + ".json");
}

} // namespace

nlohmann::json read_entry(const std::filesystem::path& folder, const std::string& key) {
  std::ifstream file(entry_path(folder, key), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto entry = parse_json(text).value_or(nullptr);
  if (entry.is_object() && value_of(entry, "version") == version && value_of(entry, "key") == key)
    return entry;
  return nlohmann::json::object();
}

nlohmann::json value_of(const nlohmann::json& entry, const char* name) {
  return entry.value(name, nlohmann::json());
}

Status write_entry(const std::filesystem::path& folder, const std::string& key,
                   nlohmann::json entry) {
  const auto path = entry_path(folder, key);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(Errc::io, "cannot create {}: {}", folder.string(), error.message());
  entry["version"] = version;
  entry["key"] = key;
  try {
    return write_file_atomically(path, entry.dump(1));
  } catch (const nlohmann::json::exception& none) { // text that is not UTF-8
    return fail(Errc::io, "cannot write {}: {}", path.string(), none.what());
  }
}

std::string digest(const std::string& text) {
  Sha256 sha;
  sha.update(text);
  return sha.hex_digest();
}

} // namespace troupe::gpu
