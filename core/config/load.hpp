/// From a config file to a checked Config, or to everything that is wrong with it.
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

/// What somebody else than the file says of a key; the file, and overrides, have the last word.
struct GivenValue {
  std::string key;
  std::string value; ///< YAML
  std::string from;  ///< stands where problems with it say where they are
};

/// Takes what is `given`, reads the file, sets the overrides ("train.optimizer.lr=0.2") and checks.
/// Reports all problems, those of the file first, by line. A run's default name is the file's.
ConfigResult load_config(const std::filesystem::path& path,
                         std::span<const std::string> overrides = {},
                         const Capabilities& capabilities = host_capabilities(),
                         const Catalogue& catalogue = {}, std::span<const GivenValue> given = {});

/// The same for a text; `source` names it in problems.
ConfigResult parse_config(std::string_view text, const std::string& source,
                          std::span<const std::string> overrides = {},
                          const Capabilities& capabilities = host_capabilities(),
                          const Catalogue& catalogue = {}, std::span<const GivenValue> given = {});

/// A value that the file, or an override, has for a key.
struct StatedValue {
  std::string text; ///< as YAML
  std::string from; ///< "job.yaml:3:5", "--set a.b=c"
};

/// By key, whether they are right or not. Nothing where the file cannot be read.
std::map<std::string, StatedValue> stated_values(const std::filesystem::path& path,
                                                 std::span<const std::string> overrides,
                                                 const Catalogue& catalogue);

/// The config as a complete YAML file that loads to the same config.
std::string to_yaml(const Config& config, const Catalogue& catalogue);

/// What stands behind a key as a comment; nullopt: the key is left out.
using ConfigComment = std::function<std::optional<std::string>(const ConfigKey&)>;

/// The same with some of the keys.
std::string to_yaml(const Config& config, const Catalogue& catalogue, const ConfigComment& comment);

} // namespace troupe
