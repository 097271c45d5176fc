#include "core/config/load.hpp"

#include "core/config/detail/reader.hpp"
#include "core/config/schema.hpp"
#include "core/escape.hpp"
#include "core/git_lfs.hpp"
#include "core/suggestion.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace troupe {

namespace {

/// Limit for files given by mistake: a long one would keep YAML's parser busy.
constexpr std::size_t longest_file = 1u << 20;

/// Returns the file in the folder of a missing one that was probably meant.
std::string nearest_file(const std::filesystem::path& path,
                         const std::vector<std::string_view>& extensions) {
  std::error_code error;
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
  std::vector<std::string> names;
  for (auto it = std::filesystem::directory_iterator{folder, error};
       !error && it != std::filesystem::directory_iterator{}; it.increment(error))
    if (std::ranges::find(extensions, it->path().extension().string()) != extensions.end())
      names.push_back(it->path().filename().string());
  const auto found = suggest(path.filename().string(), names);
  return found.empty() ? found : (path.parent_path() / found).string();
}

tl::unexpected<ConfigProblem> unreadable(const std::filesystem::path& path,
                                         const std::vector<std::string_view>& extensions,
                                         std::string why) {
  std::error_code error;
  const bool is_there = exists(std::filesystem::symlink_status(path, error));
  return tl::unexpected(
      ConfigProblem{.source = echoed(path.string()),
                    .what = std::move(why),
                    .suggestion = is_there ? std::string{} : nearest_file(path, extensions)});
}

/// The default of run.name is the file's name without its extension, if that is a valid folder
/// name.
Config default_config_of(const std::filesystem::path& path, const Catalogue& catalogue) {
  auto config = default_config(catalogue);
  const auto default_value = std::exchange(config.run.name, path.stem().string());
  if (!check_rule(*find_key(config_keys(config, catalogue), "run.name")).empty())
    config.run.name = default_value;
  return config;
}

/// Checks divide by these values. Values below 1, which their rules have rejected, become 1.
Config with_safe_divisors(Config config) {
  for (auto* divisor : {&config.devices.count, &config.cluster.min_nodes, &config.train.accumulate,
                        &config.parallel.shard_group, &config.parallel.diloco.group_size})
    *divisor = std::max<std::int64_t>(1, *divisor);
  return config;
}

ConfigResult read_config(Config config, std::string_view text, const std::string& source,
                         std::span<const std::string> overrides, const Capabilities& capabilities,
                         const Catalogue& catalogue, std::span<const GivenValue> given) {
  ConfigReader reader{config, config_keys(config, catalogue)};
  for (const auto& [key, value, from] : given)
    reader.read_given(key, value, from);
  reader.read_document(text, source);
  for (const auto& assignment : overrides)
    reader.read_override(assignment);
  reader.finish();
  config.notes = reader.warnings();
  reader.add(find_conflicts(with_safe_divisors(config), capabilities, catalogue));
  use_moved_downloads(config);
  auto problems = reader.take_problems();
  if (problems.empty() && catalogue.graph_conflicts) {
    reader.add(catalogue.graph_conflicts(config));
    problems = reader.take_problems();
  }
  if (!problems.empty())
    return tl::unexpected(std::move(problems));
  return config;
}

} // namespace

tl::expected<std::string, ConfigProblem>
read_config_text(const std::filesystem::path& path,
                 const std::vector<std::string_view>& extensions) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return unreadable(path, extensions, "a folder, not a config file");
  errno = 0;
  std::ifstream file{path, std::ios::binary};
  if (!file)
    return unreadable(path, extensions, std::string{"cannot open: "} + std::strerror(errno));
  std::string text(longest_file + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (file.bad())
    return unreadable(path, extensions, std::string{"cannot read: "} + std::strerror(errno));
  if (text.size() > longest_file)
    return unreadable(path, extensions, "longer than 1 MiB, so not a config file");
  if (is_git_lfs_pointer(text))
    return unreadable(path, extensions, std::string{git_lfs_advice});
  return text;
}

ConfigResult parse_config(std::string_view text, const std::string& source,
                          std::span<const std::string> overrides, const Capabilities& capabilities,
                          const Catalogue& catalogue, std::span<const GivenValue> given) {
  return read_config(default_config(catalogue), text, source, overrides, capabilities, catalogue,
                     given);
}

ConfigResult load_config(const std::filesystem::path& path, std::span<const std::string> overrides,
                         const Capabilities& capabilities, const Catalogue& catalogue,
                         std::span<const GivenValue> given) {
  const auto text = read_config_text(path, {".yaml", ".yml"});
  if (!text)
    return tl::unexpected(std::vector{text.error()});
  return read_config(default_config_of(path, catalogue), *text, path.string(), overrides,
                     capabilities, catalogue, given);
}

std::map<std::string, StatedValue> stated_values(const std::filesystem::path& path,
                                                 std::span<const std::string> overrides,
                                                 const Catalogue& catalogue) {
  auto config = default_config(catalogue);
  const auto keys = with_fields(config_keys(config, catalogue));
  ConfigReader reader{config, config_keys(config, catalogue)};
  if (const auto text = read_config_text(path, {".yaml", ".yml"}))
    reader.read_document(*text, path.string());
  for (const auto& assignment : overrides)
    reader.read_override(assignment);
  std::map<std::string, StatedValue> values;
  for (const auto& key : keys)
    if (auto from = reader.given_at(key.path))
      values[key.path] = {config_value_text(key), *std::move(from)};
  return values;
}

} // namespace troupe
