/// Converts YAML to JSON and validates the part of JSON Schema that our schema uses: enough to
/// check that schema, reader and files agree. Editors use real validators.
#pragma once

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

#include <charconv>
#include <cmath>
#include <regex>
#include <string>

namespace troupe::testing {

using Json = nlohmann::ordered_json;

/// Converts by the core schema of YAML 1.2, as editors do.
inline Json to_json(const YAML::Node& node) {
  if (node.IsMap()) {
    Json object = Json::object();
    for (const auto& entry : node)
      object[entry.first.Scalar()] = to_json(entry.second);
    return object;
  }
  if (node.IsSequence()) {
    Json array = Json::array();
    for (const auto& item : node)
      array.push_back(to_json(item));
    return array;
  }
  if (!node.IsScalar())
    return nullptr;
  const auto& text = node.Scalar();
  if (node.Tag() != "?")
    return text;
  static const std::regex whole{"[-+]?[0-9]+"};
  static const std::regex number{"[-+]?(\\.[0-9]+|[0-9]+(\\.[0-9]*)?)([eE][-+]?[0-9]+)?"};
  if (std::regex_match(text, std::regex{"|~|null|Null|NULL"}))
    return nullptr;
  if (std::regex_match(text, std::regex{"true|True|TRUE|false|False|FALSE"}))
    return text[0] == 't' || text[0] == 'T';
  if (std::regex_match(text, whole))
    return text[0] == '-' ? Json(std::stoll(text)) : Json(std::stoull(text));
  if (std::regex_match(text, number))
    return std::stod(text);
  return text;
}

inline bool has_type(const Json& value, const std::string& type) {
  return type == "object"    ? value.is_object()
         : type == "array"   ? value.is_array()
         : type == "string"  ? value.is_string()
         : type == "boolean" ? value.is_boolean()
         : type == "null"    ? value.is_null()
         : type == "integer" ? value.is_number_integer()
         : type == "number"  ? value.is_number()
                             : throw std::runtime_error("type " + type);
}

/// Returns whether a value fits a schema. Throws on an unknown keyword, so that no keyword goes
/// unchecked.
inline bool accepts(const Json& schema, const Json& value) {
  const auto number = [&] { return value.get<double>(); };
  for (const auto& entry : schema.items()) {
    const auto& keyword = entry.key();
    const Json& argument = entry.value();
    bool fits = true;
    if (keyword == "type") {
      const auto types = argument.is_array() ? argument : Json::array({argument});
      fits = std::any_of(types.begin(), types.end(),
                         [&](const Json& type) { return has_type(value, type); });
    } else if (keyword == "enum") {
      fits = std::find(argument.begin(), argument.end(), value) != argument.end();
    } else if (keyword == "anyOf") {
      fits = std::any_of(argument.begin(), argument.end(),
                         [&](const Json& option) { return accepts(option, value); });
    } else if (keyword == "pattern") {
      fits = !value.is_string() ||
             std::regex_search(value.get<std::string>(), std::regex{argument.get<std::string>()});
    } else if (keyword == "minimum") {
      fits = !value.is_number() || number() >= argument;
    } else if (keyword == "maximum") {
      fits = !value.is_number() || number() <= argument;
    } else if (keyword == "exclusiveMinimum") {
      fits = !value.is_number() || number() > argument;
    } else if (keyword == "exclusiveMaximum") {
      fits = !value.is_number() || number() < argument;
    } else if (keyword == "items") {
      fits = !value.is_array() || std::all_of(value.begin(), value.end(), [&](const Json& item) {
        return accepts(argument, item);
      });
    } else if (keyword == "minItems") {
      fits = !value.is_array() || value.size() >= argument.get<std::size_t>();
    } else if (keyword == "maxItems") {
      fits = !value.is_array() || value.size() <= argument.get<std::size_t>();
    } else if (keyword == "required") {
      fits = !value.is_object() ||
             std::all_of(argument.begin(), argument.end(),
                         [&](const Json& name) { return value.contains(name.get<std::string>()); });
    } else if (keyword == "properties") {
      for (const auto& [name, property] : argument.items())
        fits =
            fits && (!value.is_object() || !value.contains(name) || accepts(property, value[name]));
    } else if (keyword == "additionalProperties") {
      if (value.is_object())
        for (const auto& [name, item] : value.items())
          fits = fits && (schema.value("properties", Json::object()).contains(name) ||
                          (argument.is_object() && accepts(argument, item)));
    } else if (keyword == "minProperties") {
      fits = !value.is_object() || value.size() >= argument.get<std::size_t>();
    } else if (keyword == "maxProperties") {
      fits = !value.is_object() || value.size() <= argument.get<std::size_t>();
    } else if (keyword != "$schema" && keyword != "title" && keyword != "description" &&
               keyword != "default") {
      throw std::runtime_error("keyword " + keyword);
    }
    if (!fits)
      return false;
  }
  return true;
}

/// Returns the schema of a key such as "train.optimizer.lr", or null when there is none.
inline Json schema_of(Json schema, std::string path) {
  for (path += '.'; !path.empty() && schema.is_object(); path.erase(0, path.find('.') + 1))
    schema =
        schema.value("properties", Json::object()).value(path.substr(0, path.find('.')), Json());
  return schema;
}

} // namespace troupe::testing
