/// The one description of every config key: path, member, rule and help. The YAML reader, the
/// checks, `config show`, the JSON schema and docs/config.md all come from it.
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
  size,            ///< of a whole number: bytes, written with units
  not_empty,       ///< of text: at least one character
  folder_name,     ///< of text: one path component
  endpoint,        ///< of text: HOST:PORT
  endpoint_or_off, ///< of text: HOST:PORT or off
  web_address,     ///< of text: http://HOST:PORT or https://, maybe with a path
  path,            ///< of text: of a file or folder; "~/" at its start is the home folder
};

/// The most items of a list. Nobody needs a model of more layers, and passes over graphs and lists
/// of names are made for thousands.
inline constexpr std::size_t longest_config_list = 1024;

/// What a value may be, beyond its type. For a list or a mapping, what its items may be.
struct ConfigRule {
  std::vector<std::string> choices = {}; ///< of text; empty: anything
  std::optional<double> min = {}, max = {};
  bool above_min = false, below_max = false; ///< min or max itself is not allowed
  ConfigFormat format = ConfigFormat::plain;
};

struct ConfigKey {
  std::string path;
  ConfigTarget target;
  ConfigRule rule;
  std::string help;
  std::string_view deprecated = {}; ///< why, and what instead; empty: it is not
};

struct ConfigSection {
  std::string_view path;
  std::string_view help;
  std::string_view short_form = {}; ///< the key that text sets where the mapping would be
};

/// A config whose values are all the defaults.
Config default_config(const Catalogue& catalogue);

/// All keys, bound to the members of a config, in the order of the file.
std::vector<ConfigKey> config_keys(Config& config, const Catalogue& catalogue);
/// All sections, a parent before its children.
const std::vector<ConfigSection>& config_sections();

/// "a whole number, at least 1": what a key's value may be, in words.
std::string allowed_values(const ConfigKey& key);

/// Why a value breaks a rule (type aside).
struct RuleBreach {
  std::string what;
  std::string suggestion = {};
  int item = -1; ///< of a list
};
std::vector<RuleBreach> check_rule(const ConfigKey& key);

} // namespace troupe
