#include "core/config/detail/value.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

  static OrderedJson pattern(const char* text) { return {{"type", "string"}, {"pattern", text}}; }

  OrderedJson operator()(const bool*) const { return {{"type", "boolean"}}; }
  OrderedJson operator()(const std::int64_t*) const { return number("integer"); }
  OrderedJson operator()(const std::uint64_t*) const {
    OrderedJson whole = number("integer");
    if (rule.format != ConfigFormat::size) {
      whole["minimum"] = 0;
      return whole;
    }
    const auto text = pattern("^[0-9]+(\\.[0-9]+)? *(B|[KMGT]iB|[kKMGT]B)$");
    return {{"anyOf", OrderedJson::array({whole, text})}};
  }
  OrderedJson operator()(const ChoiceTarget& target) const {
    return {{"enum", choices_of(target, rule)}};
  }
  OrderedJson operator()(const Augmentation*) const {
    return (*this)(ChoiceTarget{nullptr, choice_words<Augmentation>});
  }
  OrderedJson operator()(const FormsTarget& target) const {
    auto words = OrderedJson::array(), options = OrderedJson::array();
    for (const auto& form : target.forms)
      if (!form.word.empty())
        words.push_back(form.word == "null" ? OrderedJson(nullptr) : OrderedJson(form.word));
    if (!words.empty())
      options.push_back({{"enum", words}});
    for (const auto& form : target.forms)
      if (!form.fields.empty())
        options.push_back(form.is_mapping() ? mapping(form) : value_schema(form.fields.front()));
    return {{"anyOf", options}};
  }
  OrderedJson operator()(const double*) const { return number("number"); }
  OrderedJson operator()(const std::string*) const {
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
  OrderedJson operator()(const std::chrono::milliseconds*) const {
    return pattern("^[0-9]+(\\.[0-9]+)? *(ms|s|min|h)$");
  }
  OrderedJson operator()(const Interval*) const {
    return pattern("^(never|[1-9][0-9]* (epochs?|steps?))$");
  }
  OrderedJson operator()(const Length*) const {
    const auto text = pattern("^([0-9]+(\\.[0-9]+)?([eE]\\+?[0-9]+)? (epochs?|steps?|tokens?)|"
                              "([0-9]{1,2}(\\.[0-9]+)?|100)%)$");
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
  OrderedJson operator()(const std::array<double, 2>*) const {
    return {{"type", "array"}, {"items", number("number")}, {"minItems", 2}, {"maxItems", 2}};
  }
  template <class T>
  OrderedJson operator()(const std::vector<T>*) const {
    OrderedJson list = {{"type", "array"}, {"items", (*this)(static_cast<const T*>(nullptr))}};
    if (rule.not_empty)
      list["minItems"] = 1;
    list["maxItems"] = longest_config_list;
    return list;
  }

  static OrderedJson value_schema(const ConfigKey& key) {
    return std::visit([&](const auto& target) { return ValueSchema{key.rule}(target); },
                      key.target);
  }
  static OrderedJson mapping(const ConfigForm& form) {
    auto fields = OrderedJson::object();
    for (const auto& field : form.fields) {
      fields[field.path] = {{"description", field.help}};
      fields[field.path].update(value_schema(field));
    }
    return {{"type", "object"},
            {"properties", fields},
            {"additionalProperties", false},
            {"minProperties", 1}};
  }
};

OrderedJson key_schema(const ConfigKey& key) {
  OrderedJson schema = {{"description", key.help}};
  schema.update(ValueSchema::value_schema(key));
  schema["default"] = config_value_json(key); // of a fresh config
  return schema;
}

OrderedJson section_schema(std::string_view help) {
  // Null: a section whose keys are all commented out.
  return {{"description", help},
          {"type", OrderedJson::array({"object", "null"})},
          {"additionalProperties", false},
          {"properties", OrderedJson::object()}};
}

/// Returns the schema of a section or a key.
OrderedJson& schema_at(OrderedJson& root, std::string_view path) {
  auto* schema = &root;
  for (std::size_t begin = 0, end = 0; end != path.npos; begin = end + 1) {
    end = path.find('.', begin);
    schema = &(*schema)["properties"][std::string{path.substr(begin, end - begin)}];
  }
  return *schema;
}

/// Escapes the bars of alternatives, which would end a cell.
std::string in_table(std::string text) {
  for (auto bar = text.find('|'); bar != std::string::npos; bar = text.find('|', bar + 2))
    text.insert(bar, 1, '\\');
  return text;
}

} // namespace

std::string config_json_schema(const Catalogue& catalogue) {
  OrderedJson root = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                      {"title", "troupe config"}};
  root.update(section_schema("A troupe training run"));
  for (const auto& section : config_sections())
    schema_at(root, section.path) = section_schema(section.help);
  auto defaults = default_config(catalogue);
  for (const auto& key : config_keys(defaults, catalogue))
    if (!key.hidden)
      schema_at(root, key.path) = key_schema(key);
  return root.dump(2) + "\n";
}

std::string full_help(const ConfigKey& key) {
  auto text = key.help;
  if (const auto* forms = std::get_if<FormsTarget>(&key.target))
    for (const auto& form : forms->forms)
      for (const auto& field : form.fields)
        if (!field.path.empty() && !field.help.empty())
          text += fmt::format("; {}: {}", field.path, field.help);
  return text;
}

std::string config_markdown(const Catalogue& catalogue) {
  std::string out =
      "# The config file\n\nGenerated by `troupe config schema --format markdown`. Every key has a "
      "default, shown in the table, so a short file is enough.\n`troupe config check FILE` checks "
      "a file, `--set KEY=VALUE` overrides a key, and `--set KEY.FIELD=VALUE` a field of a "
      "mapping. Lists have at most 1024 items.\n";
  auto defaults = default_config(catalogue);
  const auto keys = config_keys(defaults, catalogue);
  for (const auto& section : config_sections()) {
    out +=
        fmt::format("\n## {}\n\n{}.\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n",
                    section.path, section.help);
    for (const auto& key : keys) {
      if (!key.hidden && key.section() == section.path)
        out += fmt::format("| `{}` | `{}` | {} | {} |\n", key.name(), config_value_text(key),
                           in_table(allowed_values(key)), full_help(key));
    }
  }
  return out;
}

} // namespace troupe
