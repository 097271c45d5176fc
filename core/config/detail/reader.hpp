/// Reads YAML documents and overrides into the members that keys are bound to, and records where
/// each key was given.
#pragma once

#include "core/config/detail/old_keys.hpp"
#include "core/config/schema.hpp"
#include "core/config/validate.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace YAML {
class Node;
struct Mark;
} // namespace YAML

namespace troupe {

class ConfigReader {
public:
  /// Reads into the members of the config. `keys` are bound to it; it outlives the reader.
  ConfigReader(Config& config, std::vector<ConfigKey> keys)
      : keys_{with_fields(std::move(keys))}, old_{config, keys_} {}

  void read_document(std::string_view text, const std::string& source);
  /// Sets a key from a YAML value of another source.
  void read_given(const std::string& key, const std::string& value, const std::string& source);
  /// Sets a key from "a.b=value"; the source of its problems is "--set a.b=value".
  void read_override(const std::string& assignment);

  /// Adds conflicts, each located at the first of its keys that was given. Drops a conflict if one
  /// of its keys already has a problem, because it would be a consequence.
  void add(ConfigConflicts conflicts);

  /// Applies and checks the old keys. Call it after everything was read.
  void finish();
  /// Returns a warning for each old key that was given.
  std::vector<std::string> warnings() const;

  /// Location where a key was last given.
  std::optional<std::string> given_at(const std::string& key) const;

  /// Returns all problems so far: those of the document by line, then those of the overrides in
  /// their order.
  std::vector<ConfigProblem> take_problems();

private:
  struct Place {
    std::string source;
    int line = 0, column = 0;
  };

  /// How a key or a field was given, if it was: a key whole, not only a field of its mapping.
  struct Given {
    std::optional<Place> in_document, in_override;
  };

  Place place(const YAML::Mark& mark) const;
  void report(const Place& place, const std::string& key, std::string what,
              std::string allowed = {}, std::string suggestion = {});
  void read_section(const std::string& path, const YAML::Node& node);
  void read_entry(const std::string& path, const YAML::Node& node, const Place& name);
  void read_value(const ConfigKey& key, const YAML::Node& node, const Place& name);
  /// The paths of the key, of the key whose field it is, and of the fields that it sets.
  std::vector<std::string> paths_set_with(const ConfigKey& key) const;
  void read_old(const OldKey& old, const YAML::Node& node, const Place& name);
  /// Reads a value that is written as a mapping, whose fields are keys.
  void read_mapping(const ConfigKey& key, const YAML::Node& node);
  /// Whether the mapping in place of a value has names of old keys, so that it is a section of
  /// them.
  bool is_old_section(const std::string& path, const YAML::Node& node) const;
  void note_given(const std::string& key, const Place& place);
  void refuse_both(const OldKey& old, const std::string& now);
  void report_repeated(const std::string& key, const std::vector<Place>& places);
  void report_unknown(const std::string& path, const Place& name);
  /// Whether the key, or a section that contains it, already has a problem.
  bool is_broken(std::string path) const;
  std::vector<std::string> children(const std::string& section) const;

  std::vector<ConfigKey> keys_;
  OldKeys old_;
  std::map<std::string, Place> given_;
  std::map<std::string, Given> whole_;
  std::set<std::string> broken_;
  std::vector<ConfigProblem> problems_;
  std::string source_; ///< the source that is being read
  bool in_override_ = false;
  bool in_old_section_ = false; ///< all names are those of old keys
  bool unreadable_ = false;     ///< the whole document: nothing follows from missing keys
};

} // namespace troupe
