/// Keys of custom models and data sets. They are checked, printed, described and compared like all
/// other keys.
#pragma once

#include "core/config/schema.hpp"

#include <string>
#include <string_view>

namespace troupe {

/// T is one of the types of CustomValue.
template <class T>
struct CustomKey {
  std::string name; ///< within its section: "patch" for model.patch
  T default_value;
  ConfigRule rule = {};
  std::string help;
};

/// Returns the key, bound to its value in the section. A missing value becomes the default. If the
/// name already holds a value of another type, that value is replaced and the earlier key is
/// invalid: a program with such keys is refused when it starts (app/program.hpp).
template <class T>
ConfigKey custom_key(std::string_view section, CustomValues& values, const CustomKey<T>& key) {
  auto& value = values.try_emplace(key.name, key.default_value).first->second;
  if (!std::holds_alternative<T>(value))
    value = key.default_value;
  return {std::string{section} + "." + key.name, &std::get<T>(value), key.rule, key.help};
}
template <class T>
ConfigKey custom_key(ModelConfig& model, const CustomKey<T>& key) {
  return custom_key("model", model.own, key);
}
template <class T>
ConfigKey custom_key(DataConfig& data, const CustomKey<T>& key) {
  return custom_key("data", data.own, key);
}

/// Returns the key's value in the section (a ModelConfig or a DataConfig), or its default.
template <class T, class Section>
T custom_value(const Section& section, const CustomKey<T>& key) {
  const auto found = section.own.find(key.name);
  return found == section.own.end() ? key.default_value : std::get<T>(found->second);
}

} // namespace troupe
