#include "core/config/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace troupe {

namespace {

using OrderedJson = nlohmann::ordered_json;

/// The schema of a value of the C++ type. Patterns are ECMA-262, as JSON Schema requires.
struct ValueSchema {
  const ConfigRule& rule;

  OrderedJson number(const char* type) const {
    OrderedJson schema = {{"type", type}};
    // Writes whole limits as whole numbers, because editors show them.
    const auto limit = [](double value) {
      return value == static_cast<double>(static_cast<std::int64_t>(value))
                 ? OrderedJson(static_cast<std::int64_t>(value))
                 : OrderedJson(value);
    };
    if (rule.min)
      schema[rule.above_min ? "exclusiveMinimum" : "minimum"] = limit(*rule.min);
    if (rule.max)
      schema[rule.below_max ? "exclusiveMaximum" : "maximum"] = limit(*rule.max);
    return schema;
  }

  OrderedJson operator()(const bool*) const { return {{"type", "boolean"}}; }
  OrderedJson operator()(const std::int64_t*) const { return number("integer"); }
  OrderedJson operator()(const std::uint64_t*) const {
    OrderedJson whole = number("integer");
    if (rule.format != ConfigFormat::size) {
      whole["minimum"] = 0;
      return whole;
    }
    const OrderedJson text = {{"type", "string"},
                              {"pattern", "^[0-9]+(\\.[0-9]+)? *(B|[KMGT]iB|[kKMGT]B)$"}};
    return {{"anyOf", OrderedJson::array({whole, text})}};
  }
  OrderedJson operator()(const RecomputeConfig*) const {
    const ConfigRule bytes{.min = 1, .format = ConfigFormat::size};
    const OrderedJson size = ValueSchema{bytes}(static_cast<const std::uint64_t*>(nullptr));
    const OrderedJson word = {{"enum", {"none", "block"}}};
    const OrderedJson names = {{"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 1}};
    const OrderedJson fit = {{"type", "object"},
                             {"properties", {{"fit", size}}},
                             {"required", {"fit"}},
                             {"additionalProperties", false}};
    return {{"anyOf", OrderedJson::array({word, names, fit})}};
  }
  OrderedJson operator()(const double*) const { return number("number"); }
  OrderedJson operator()(const std::string*) const {
    const auto pattern = [](const char* text) {
      return OrderedJson{{"type", "string"}, {"pattern", text}};
    };
    if (!rule.choices.empty())
      return {{"enum", rule.choices}};
    switch (rule.format) {
    case ConfigFormat::not_empty:
      return pattern("^.+$");
    case ConfigFormat::folder_name:
      return pattern("^[^/]+$");
    case ConfigFormat::endpoint:
      return pattern("^(\\[[^\\s/\\[\\]]+\\]|[^\\s/\\[\\]:]+):[0-9]{1,5}$");
    case ConfigFormat::endpoint_or_off:
      return pattern("^(off|(\\[[^\\s/\\[\\]]+\\]|[^\\s/\\[\\]:]+):[0-9]{1,5})$");
    case ConfigFormat::web_address:
      return pattern("^https?://[^\\s/?#]+(/[^\\s?#]*)?$");
    default:
      return {{"type", "string"}};
    }
  }
  OrderedJson operator()(const StrategyKind*) const {
    return (*this)(static_cast<const std::string*>(nullptr));
  }
  OrderedJson operator()(const std::chrono::milliseconds*) const {
    return {{"type", "string"}, {"pattern", "^[0-9]+(\\.[0-9]+)? *(ms|s|min|h)$"}};
  }
  OrderedJson operator()(const Interval*) const {
    return {{"type", "string"}, {"pattern", "^(never|[1-9][0-9]* (epochs?|steps?))$"}};
  }
  OrderedJson operator()(const Length*) const {
    const OrderedJson text = {{"type", "string"},
                              {"pattern",
                               "^([0-9]+(\\.[0-9]+)?([eE]\\+?[0-9]+)? (epochs?|steps?|tokens?)|"
                               "([0-9]{1,2}(\\.[0-9]+)?|100)%)$"}};
    return {{"anyOf", OrderedJson::array({number("number"), text})}};
  }
  OrderedJson operator()(const std::map<std::string, double>*) const {
    return {{"type", "object"},
            {"additionalProperties", number("number")},
            {"maxProperties", longest_config_list}};
  }
  template <class T>
  OrderedJson operator()(const std::optional<T>*) const {
    return {{"anyOf",
             OrderedJson::array({(*this)(static_cast<const T*>(nullptr)), {{"type", "null"}}})}};
  }
  template <class T>
  OrderedJson operator()(const std::vector<T>*) const {
    return {{"type", "array"},
            {"items", (*this)(static_cast<const T*>(nullptr))},
            {"maxItems", longest_config_list}};
  }
};

/// The member's value, which is the default in a fresh config.
struct ValueJson {
  ConfigFormat format;

  OrderedJson operator()(const std::chrono::milliseconds* v) const { return format_duration(*v); }
  OrderedJson operator()(const Interval* v) const { return format_interval(*v); }
  OrderedJson operator()(const Length* v) const {
    return v->unit == Length::Unit::epochs ? OrderedJson(v->count) : OrderedJson(format_length(*v));
  }
  OrderedJson operator()(const std::vector<Length>* v) const {
    auto list = OrderedJson::array();
    for (const auto& length : *v)
      list.push_back((*this)(&length));
    return list;
  }
  OrderedJson operator()(const StrategyKind* v) const { return to_string(*v); }
  OrderedJson operator()(const RecomputeConfig* v) const {
    switch (v->kind) {
    case RecomputeConfig::Kind::names:
      return v->names;
    case RecomputeConfig::Kind::fit:
      return {{"fit", format_size(v->fit_bytes)}};
    case RecomputeConfig::Kind::block:
      return "block";
    default:
      return "none";
    }
  }
  OrderedJson operator()(const std::uint64_t* v) const {
    return format == ConfigFormat::size ? OrderedJson(format_size(*v)) : OrderedJson(*v);
  }
  OrderedJson operator()(const std::map<std::string, double>* v) const {
    auto mapping = OrderedJson::object(); // an object even if it is empty
    for (const auto& [name, value] : *v)
      mapping[name] = value;
    return mapping;
  }
  template <class T>
  OrderedJson operator()(const std::optional<T>* v) const {
    return v->has_value() ? (*this)(&**v) : OrderedJson(nullptr);
  }
  template <class T>
  OrderedJson operator()(const T* v) const {
    return *v;
  }
};

OrderedJson key_schema(const ConfigKey& key) {
  OrderedJson schema = {{"description", key.help}};
  schema.update(
      std::visit([&](auto* target) { return ValueSchema{key.rule}(target); }, key.target));
  schema["default"] =
      std::visit([&](auto* target) { return ValueJson{key.rule.format}(target); }, key.target);
  if (!key.deprecated.empty())
    schema["deprecated"] = true;
  return schema;
}

OrderedJson section_schema(std::string_view help) {
  // Null: a section whose keys are all commented out.
  return {{"description", help},
          {"type", OrderedJson::array({"object", "null"})},
          {"additionalProperties", false},
          {"properties", OrderedJson::object()}};
}

/// Allows a string in place of the mapping, which sets the key. `pattern` only applies to strings,
/// not to mappings.
void accept_short_form(OrderedJson& section, const ConfigKey& key) {
  section["type"].push_back("string");
  section["pattern"] = fmt::format("^({})$", fmt::join(key.rule.choices, "|"));
}

/// Returns the properties of the section that contains a path, and the path's last part.
std::pair<OrderedJson*, std::string> locate(OrderedJson& root, std::string_view path) {
  OrderedJson* schema = &root;
  for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    schema = &(*schema)["properties"][std::string{path.substr(0, dot)}];
    path.remove_prefix(dot + 1);
  }
  return {&(*schema)["properties"], std::string{path}};
}

} // namespace

std::string config_json_schema(const Catalogue& catalogue) {
  OrderedJson root = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "troupe config"}};
  root.update(section_schema("A troupe training run"));
  for (const auto& section : config_sections()) {
    const auto [properties, name] = locate(root, section.path);
    (*properties)[name] = section_schema(section.help);
  }
  auto defaults = default_config(catalogue);
  const auto keys = config_keys(defaults, catalogue);
  for (const auto& key : keys) {
    const auto [properties, name] = locate(root, key.path);
    (*properties)[name] = key_schema(key);
  }
  for (const auto& section : config_sections()) {
    if (section.short_form.empty())
      continue;
    const auto path = fmt::format("{}.{}", section.path, section.short_form);
    const auto [properties, name] = locate(root, section.path);
    accept_short_form((*properties)[name], *std::ranges::find(keys, path, &ConfigKey::path));
  }
  return root.dump(2) + "\n";
}

std::string config_markdown(const Catalogue& catalogue) {
  std::string out =
      "# The config file\n\nGenerated by `troupe config schema --format markdown`. Every key has a "
      "default, shown in the table, so a short file is enough.\n`troupe config check FILE` checks "
      "a file, `--set KEY=VALUE` overrides a key. Lists have at most 1024 items.\n";
  auto defaults = default_config(catalogue);
  const auto keys = config_keys(defaults, catalogue);
  for (const auto& section : config_sections()) {
    out +=
        fmt::format("\n## {}\n\n{}.\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n",
                    section.path, section.help);
    for (const auto& key : keys) {
      const auto dot = key.path.rfind('.');
      if (std::string_view{key.path}.substr(0, dot) == section.path)
        out += fmt::format("| `{}` | `{}` | {} | {}{}{} |\n", key.path.substr(dot + 1),
                           config_value_text(key), allowed_values(key), key.help,
                           key.deprecated.empty() ? "" : ". Deprecated: ", key.deprecated);
    }
  }
  return out;
}

} // namespace troupe
