/// Loads a config file: returns a checked Config, or all problems with it.
#pragma once

#include "core/config/capabilities.hpp"
#include "core/config/catalogue.hpp"
#include "core/config/config.hpp"
#include "core/config/problem.hpp"

#include <tl/expected.hpp>

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

using ConfigResult = tl::expected<Config, std::vector<ConfigProblem>>;

/// A key's value from a source other than the file. The file and overrides take precedence.
struct GivenValue {
  std::string key;
  std::string value; ///< YAML
  std::string from;  ///< the location in its error messages
};

/// Applies `given`, reads the file, applies the overrides ("train.optimizer.lr=0.2") and checks the
/// result. Reports all problems, those of the file first, by line. A run's default name is the
/// file's.
ConfigResult load_config(const std::filesystem::path& path,
                         std::span<const std::string> overrides = {},
                         const Capabilities& capabilities = host_capabilities(),
                         const Catalogue& catalogue = {}, std::span<const GivenValue> given = {});

/// Loads a config from text; `source` names it in problems.
ConfigResult parse_config(std::string_view text, const std::string& source,
                          std::span<const std::string> overrides = {},
                          const Capabilities& capabilities = host_capabilities(),
                          const Catalogue& catalogue = {}, std::span<const GivenValue> given = {});

/// A key's value in the file or in an override.
struct StatedValue {
  std::string text; ///< as YAML
  std::string from; ///< "job.yaml:3:5", "--set a.b=c"
};

/// Returns the stated values by key and field, valid or not; empty if the file cannot be read.
std::map<std::string, StatedValue> stated_values(const std::filesystem::path& path,
                                                 std::span<const std::string> overrides,
                                                 const Catalogue& catalogue);

/// Returns the comment after a key; nullopt leaves the key out.
using ConfigComment = std::function<std::optional<std::string>(const ConfigKey&)>;

/// Returns the config as a YAML file. Without `comment`, it has all keys and no comments, and loads
/// to the same config.
std::string to_yaml(
    const Config& config, const Catalogue& catalogue,
    const ConfigComment& comment = [](const ConfigKey&) { return std::string{}; });

} // namespace troupe
