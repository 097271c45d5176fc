/// The one description of every config key: path, member, rule and help. The YAML reader, the
/// checks, `config show`, the JSON schema and docs/config.md all use it.
#pragma once

#include "core/config/config.hpp"
#include "core/config/forward.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace troupe {

/// An enum member, as its number and the words of all values (choice.hpp).
struct ChoiceTarget {
  std::uint8_t* number;
  std::span<const std::string_view> words;

  bool operator==(const ChoiceTarget& other) const { return number == other.number; }
};

template <Choice E>
ChoiceTarget choice(E& member) {
  return {reinterpret_cast<std::uint8_t*>(&member), choice_words<E>};
}

struct ConfigForm;

/// A member that is written in one of several forms.
struct FormsTarget {
  const void* member;
  std::vector<ConfigForm> forms;

  bool operator==(const FormsTarget& other) const { return member == other.member; }
};

/// The member of a Config that a key sets.
using ConfigTarget =
    std::variant<bool*, std::int64_t*, std::uint64_t*, double*, std::string*,
                 std::chrono::milliseconds*, Interval*, Length*, std::optional<std::int64_t>*,
                 std::optional<double>*, std::optional<std::string>*,
                 std::optional<std::chrono::milliseconds>*, std::array<double, 2>*,
                 std::vector<std::int64_t>*, std::vector<double>*, std::vector<std::string>*,
                 std::vector<Length>*, std::vector<Augmentation>*, std::map<std::string, double>*,
                 ChoiceTarget, FormsTarget>;

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
  std::vector<std::string> choices = {}; ///< words; empty: any text, or all values of an enum
  std::optional<double> min = {}, max = {};
  bool above_min = false, below_max = false; ///< min or max itself is not allowed
  bool not_empty = false;                    ///< a list has at least one item
  ConfigFormat format = ConfigFormat::plain;
};

struct ConfigKey {
  std::string path;
  ConfigTarget target;
  ConfigRule rule;
  std::string help;
  /// Read, and printed if it is set, but not described: for tests and comparisons.
  bool hidden = false;
  std::function<void()> prepare = [] {}; ///< called before a field of a mapping is set

  /// The part of the path before the last dot, and the part after it.
  std::string_view section() const { return std::string_view{path}.substr(0, path.rfind('.')); }
  std::string_view name() const { return std::string_view{path}.substr(path.rfind('.') + 1); }
};

/// One way to write a value that has several. The value is printed in the first form that fits.
struct ConfigForm {
  std::string_view word = {};           ///< "null" stands for no value; empty: the form has fields
  std::vector<ConfigKey> fields = {};   ///< of a mapping; those without a path are the value itself
  std::function<void()> choose = [] {}; ///< gives the member this form's value and default fields
  std::function<bool()> fits = [] { return true; }; ///< whether it can express the member's value

  bool is_mapping() const { return !fields.empty() && !fields.front().path.empty(); }
};

/// Returns the key with a path; null if there is none.
const ConfigKey* find_key(std::span<const ConfigKey> keys, std::string_view path);
/// Returns the keys, followed by the fields of their mappings ("cluster.listen.address").
std::vector<ConfigKey> with_fields(std::vector<ConfigKey> keys);

struct ConfigSection {
  std::string_view path;
  std::string_view help;
};

/// Returns a config whose values are all the defaults.
Config default_config(const Catalogue& catalogue);

/// Returns all keys, bound to the members of a config, in the order of the file.
std::vector<ConfigKey> config_keys(Config& config, const Catalogue& catalogue);
/// Returns all sections, a parent before its children.
const std::vector<ConfigSection>& config_sections();

/// Describes the valid values of a key: "a whole number, at least 1".
std::string allowed_values(const ConfigKey& key);
/// Returns the words that a key's value or list items can be; empty: they are not words.
std::vector<std::string> choices_of(const ConfigKey& key);
/// Returns the words of a target that a rule allows.
std::vector<std::string> choices_of(const ChoiceTarget& target, const ConfigRule& rule);
/// Returns the first form that fits the member's value.
const ConfigForm& form_of(const FormsTarget& target);

/// The problem of a rejected value or list item.
struct ValueProblem {
  std::string what;
  std::string suggestion = {};
  int item = -1; ///< index in a list
};
/// Returns the ways in which the member's value breaks the key's rule.
std::vector<ValueProblem> check_rule(const ConfigKey& key);

/// Returns a key's value as it is written in a config file.
std::string config_value_text(const ConfigKey& key);

/// Returns a key's help, followed by that of the fields of its mappings.
std::string full_help(const ConfigKey& key);

/// Returns the JSON Schema (draft 2020-12) with which editors check and complete config files.
std::string config_json_schema(const Catalogue& catalogue);

/// Returns docs/config.md: a table of keys for every section.
std::string config_markdown(const Catalogue& catalogue);

} // namespace troupe
