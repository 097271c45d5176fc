#include "core/config/load.hpp"

#include "core/config/detail/reader.hpp"
#include "core/config/schema.hpp"
#include "core/config/text_file.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

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
