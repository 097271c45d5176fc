#include "training/hugging_face/weight_files.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "training/hugging_face/config_file.hpp"
#include "training/pickle.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

namespace troupe::training {

namespace {

namespace fs = std::filesystem;

constexpr const char* whole_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";
constexpr std::string_view map_key = "weight_map.";
/// Each is an open file. Models of 400 billion parameters have 191.
constexpr std::size_t most_files = 256;

/// File name by tensor.
using WeightMap = std::map<std::string, std::string, std::less<>>;
using WeightReaders = std::vector<SafetensorsReader>;

/// Whether the name is one of a file in the folder itself. Names are untrusted input.
bool is_plain_name(std::string_view name) {
  return name.ends_with(".safetensors") && !name.starts_with('.') &&
         std::ranges::none_of(name, [](unsigned char c) { return c == '/' || c < ' '; });
}

/// Returns the part of a document's key after "weight_map.", without quotes: a name with a dot is
/// quoted.
std::string_view tensor_of(std::string_view key) {
  key.remove_prefix(map_key.size());
  if (key.size() >= 2 && key.starts_with('"') && key.ends_with('"'))
    key = key.substr(1, key.size() - 2);
  return key;
}

Result<WeightMap> read_index(const fs::path& path) {
  TROUPE_TRY(const auto document, read_small_json(path));
  WeightMap map;
  for (const auto& entry : document.entries) {
    if (!entry.key.starts_with(map_key))
      continue;
    if (entry.kind != ForeignKind::text || !is_plain_name(entry.text))
      return fail(Errc::invalid_input,
                  "{}:{}: {}: \"{}\" is not the name of a .safetensors file in this folder",
                  escaped(path.string()), entry.line, entry.key, echoed(entry.text));
    map.emplace(tensor_of(entry.key), entry.text);
  }
  if (map.empty())
    return fail(Errc::invalid_input, "{}: weight_map names no tensor", escaped(path.string()));
  return map;
}

/// Removes the tensors of a file from the map.
Status take_off(const SafetensorsReader& reader, const fs::path& index, WeightMap& map) {
  const auto file = reader.path().filename().string();
  for (const auto& entry : reader.entries()) {
    const auto found = map.find(entry.name);
    if (found == map.end() || found->second != file)
      return fail(Errc::invalid_input,
                  "{}: has the tensor '{}', but {} does not list it in this file",
                  escaped(reader.path().string()), echoed(entry.name), index_file);
    map.erase(found);
  }
  const auto left = std::ranges::find(map, file, &WeightMap::value_type::second);
  if (left != map.end())
    return fail(Errc::invalid_input, "{} lists a tensor in {} that is missing there: '{}'",
                escaped(index.string()), escaped(file), echoed(left->first));
  return {};
}

Result<SafetensorsReader> open_shard(const fs::path& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    return fail(Errc::invalid_input, "{}: there is no such file, although {} lists it",
                escaped(path.string()), index_file);
  return SafetensorsReader::open(path);
}

Result<WeightReaders> open_indexed(const fs::path& folder) {
  const auto index = folder / index_file;
  TROUPE_TRY(auto map, read_index(index));
  std::vector<std::string> names;
  for (const auto& [tensor, file] : map)
    names.push_back(file);
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  if (names.size() > most_files)
    return fail(Errc::invalid_input, "{} names {} files; at most {} are read",
                escaped(index.string()), names.size(), most_files);
  WeightReaders readers;
  for (const auto& name : names) {
    TROUPE_TRY(auto reader, open_shard(folder / name));
    TROUPE_TRY(take_off(reader, index, map));
    readers.push_back(std::move(reader));
  }
  return readers;
}

} // namespace

Result<WeightReaders> open_weight_files(const fs::path& folder) {
  std::error_code ignored;
  if (fs::exists(folder / whole_file, ignored)) {
    TROUPE_TRY(auto reader, SafetensorsReader::open(folder / whole_file));
    WeightReaders readers;
    readers.push_back(std::move(reader));
    return readers;
  }
  if (fs::exists(folder / index_file, ignored))
    return open_indexed(folder);
  if (const auto advice = pickle_advice(folder / "pytorch_model.bin"))
    return fail(Errc::invalid_input, "{}", *advice);
  return fail(Errc::invalid_input, "{}: there is neither {} nor {} in this folder",
              escaped(folder.string()), whole_file, index_file);
}

} // namespace troupe::training
