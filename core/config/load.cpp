#include "load.hpp"

#include "../nearest.hpp"
#include "../printable.hpp"
#include "detail/reader.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace troupe {

namespace {

/// A file that was given by mistake may be long, and YAML takes long to find what is wrong with it.
constexpr std::size_t longest_file = 1u << 20;

/// The YAML file beside a missing one that was probably meant.
std::string nearest_file(const std::filesystem::path& path) {
  std::error_code error;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
  std::vector<std::string> names;
  for (auto it = std::filesystem::directory_iterator{folder, error};
       !error && it != std::filesystem::directory_iterator{}; it.increment(error))
    if (const auto extension = it->path().extension(); extension == ".yaml" || extension == ".yml")
      names.push_back(it->path().filename().string());
  const auto found = nearest(path.filename().string(), names);
  return found.empty() ? found : (path.parent_path() / found).string();
}

ConfigResult unreadable(const std::filesystem::path& path, std::string why) {
  std::error_code error;
  const bool is_there = exists(std::filesystem::symlink_status(path, error));
  return tl::unexpected(
      std::vector<ConfigProblem>{{.source = echoed(path.string()),
                                  .what = std::move(why),
                                  .nearest = is_there ? std::string{} : nearest_file(path)}});
}

/// Checks divide by these values: 1 stands in for one that is less, which its rule has refused.
Config with_safe_divisors(Config config) {
  for (auto* divisor : {&config.devices.count, &config.cluster.min_nodes, &config.train.accumulate,
                        &config.parallel.shard_group})
    *divisor = std::max<std::int64_t>(1, *divisor);
  return config;
}

void add(ConfigReader& reader, ConfigConflicts conflicts) {
  for (auto& conflict : conflicts)
    reader.add({.key = conflict.keys.front(),
                .what = std::move(conflict.what),
                .allowed = std::move(conflict.allowed),
                .nearest = std::move(conflict.nearest)},
               conflict.keys);
}

} // namespace

ConfigResult parse_config(std::string_view text, const std::string& source,
                          std::span<const std::string> overrides, const Capabilities& capabilities,
                          const ModelCatalogue& models) {
  auto config = default_config(models);
  ConfigReader reader{config_keys(config, models)};
  reader.read_document(text, source);
  for (const auto& assignment : overrides)
    reader.read_override(assignment);
  add(reader, find_conflicts(with_safe_divisors(config), capabilities, models));
  auto problems = reader.take_problems();
  if (problems.empty() && models.graph_conflicts) {
    add(reader, models.graph_conflicts(config));
    problems = reader.take_problems();
  }
  if (!problems.empty())
    return tl::unexpected(std::move(problems));
  return config;
}

ConfigResult load_config(const std::filesystem::path& path, std::span<const std::string> overrides,
                         const Capabilities& capabilities, const ModelCatalogue& models) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return unreadable(path, "a folder, not a config file");
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  if (!file)
    return unreadable(path, std::string{"cannot open: "} + std::strerror(errno));
  std::string text(longest_file + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad())
    return unreadable(path, std::string{"cannot read: "} + std::strerror(errno));
  if (text.size() > longest_file)
    return unreadable(path, "longer than 1 MiB, so not a config file");
  return parse_config(text, path.string(), overrides, capabilities, models);
}

} // namespace troupe
