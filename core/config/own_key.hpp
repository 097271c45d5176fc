/// Keys of models and data sets that are not of this tree. They are checked, printed, described and
/// compared as all others are.
#pragma once

#include "core/config/schema.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// T is one of the types of OwnValue.
template <class T>
struct OwnKey {
  std::string name; ///< within its section: "patch" for model.patch
  T usual;          ///< its default
  ConfigRule rule = {};
  std::string help;
};

/// The key, bound to its place in the section, which gets the default where it has no value yet. Of
/// another type that the name has there already, none of both works: a program with such keys is
/// refused when it starts (app/program.hpp).
template <class T>
ConfigKey own_key(std::string_view section, OwnValues& values, const OwnKey<T>& key) {
  auto& value = values.try_emplace(key.name, key.usual).first->second;
  if (!std::holds_alternative<T>(value))
    value = key.usual;
  return {std::string{section} + "." + key.name, &std::get<T>(value), key.rule, key.help};
}
template <class T>
ConfigKey own_key(ModelConfig& model, const OwnKey<T>& key) {
  return own_key("model", model.own, key);
}
template <class T>
ConfigKey own_key(DataConfig& data, const OwnKey<T>& key) {
  return own_key("data", data.own, key);
}

/// What the section (a ModelConfig or a DataConfig) says of the key.
template <class T, class Section>
T own_value(const Section& section, const OwnKey<T>& key) {
  const auto found = section.own.find(key.name);
  return found == section.own.end() ? key.usual : std::get<T>(found->second);
}

} // namespace troupe
