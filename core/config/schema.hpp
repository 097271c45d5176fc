/// The one description of every config key: path, member, rule and help. The YAML reader, the
/// checks, `config show`, the JSON schema and docs/config.md all use it.
#pragma once

#include "core/config/config.hpp"
#include "core/config/forward.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// The member of a Config that a key sets.
using ConfigTarget =
    std::variant<bool*, std::int64_t*, std::uint64_t*, double*, std::string*,
                 std::chrono::milliseconds*, Interval*, Length*, std::optional<std::int64_t>*,
                 std::optional<double>*, std::optional<std::string>*, std::vector<std::int64_t>*,
                 std::vector<double>*, std::vector<std::string>*, std::vector<Length>*,
                 std::map<std::string, double>*, RecomputeConfig*, StrategyKind*>;

enum class ConfigFormat : std::uint8_t {
  plain,
  size,            ///< whole number: bytes, written with units
  not_empty,       ///< text: at least one character
  folder_name,     ///< text: one path component
  endpoint,        ///< text: HOST:PORT
  endpoint_or_off, ///< text: HOST:PORT or off
  web_address,     ///< text: http://HOST:PORT or https://, optionally with a path
  path,            ///< text: a file or folder; "~/" at its start is the home folder
};

/// The most items of a list. Realistic models have fewer layers, and passes over graphs and lists
/// of names are designed for thousands.
inline constexpr std::size_t longest_config_list = 1024;

/// Constraints on a value beyond its type. For a list or a mapping they apply to the items.
struct ConfigRule {
  std::vector<std::string> choices = {}; ///< text; empty: anything
  std::optional<double> min = {}, max = {};
  bool above_min = false, below_max = false; ///< min or max itself is not allowed
  ConfigFormat format = ConfigFormat::plain;
};

struct ConfigKey {
  std::string path;
  ConfigTarget target;
  ConfigRule rule;
  std::string help;
  std::string_view deprecated = {}; ///< reason and replacement; empty: not deprecated
};

struct ConfigSection {
  std::string_view path;
  std::string_view help;
  std::string_view short_form = {}; ///< the key that a scalar in place of the mapping sets
};

/// Returns a config whose values are all the defaults.
Config default_config(const Catalogue& catalogue);

/// Returns all keys, bound to the members of a config, in the order of the file.
std::vector<ConfigKey> config_keys(Config& config, const Catalogue& catalogue);
/// Returns all sections, a parent before its children.
const std::vector<ConfigSection>& config_sections();

/// Describes the valid values of a key: "a whole number, at least 1".
std::string allowed_values(const ConfigKey& key);

/// The reason why a value breaks a rule (type aside).
struct RuleBreach {
  std::string what;
  std::string suggestion = {};
  int item = -1; ///< index in a list
};
std::vector<RuleBreach> check_rule(const ConfigKey& key);

} // namespace troupe
