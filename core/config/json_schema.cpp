// Descriptions of keys: the values that they take, in words and as JSON Schema; docs/config.md.
#include "core/config/detail/value.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

namespace troupe {

namespace {

using OrderedJson = nlohmann::ordered_json;

std::string range_words(const ConfigRule& rule) {
  if (rule.min && rule.max && !rule.above_min && !rule.below_max)
    return fmt::format(", {} to {}", *rule.min, *rule.max);
  std::string words;
  if (rule.min)
    words = fmt::format(", {} {}", rule.above_min ? "above" : "at least", *rule.min);
  if (rule.max)
    words += fmt::format("{} {} {}", words.empty() ? "," : " and",
                         rule.below_max ? "below" : "at most", *rule.max);
  return words;
}

/// The values that a key takes.
struct Described {
  std::string placeholder; ///< stands for the value in the description of a mapping: "N"
  std::string allowed;     ///< "a whole number, at least 1"
  OrderedJson schema;      ///< patterns are ECMA-262, as JSON Schema requires
};

/// Describes one value of the C++ type, or one item of a list.
struct Describe {
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
  static OrderedJson any_of(const OrderedJson& one, const OrderedJson& other) {
    return {{"anyOf", OrderedJson::array({one, other})}};
  }

  Described operator()(const bool*) const {
    return {"BOOL", "true or false", {{"type", "boolean"}}};
  }
  Described operator()(const std::int64_t*) const {
    return {"N", "a whole number" + range_words(rule), number("integer")};
  }
  Described operator()(const std::uint64_t*) const {
    auto whole = number("integer");
    if (rule.format == ConfigFormat::size)
      return {"SIZE",
              fmt::format("bytes or a size such as 512KiB, 25MiB, 1GiB, at least {}",
                          rule.min.value_or(0)),
              any_of(whole, pattern("^[0-9]+(\\.[0-9]+)? *(B|[KMGT]iB|[kKMGT]B)$"))};
    whole["minimum"] = 0;
    return {"SIZE", "a whole number, at least 0", whole};
  }
  Described operator()(const double*) const {
    return {"NUMBER", "a number" + range_words(rule), number("number")};
  }
  Described operator()(const std::string*) const {
    if (!rule.choices.empty())
      return {"TEXT", fmt::format("{}", fmt::join(rule.choices, ", ")), {{"enum", rule.choices}}};
    const auto [allowed, schema] = text();
    return {"TEXT", allowed, schema};
  }
  std::pair<const char*, OrderedJson> text() const {
    switch (rule.format) {
    case ConfigFormat::not_empty:
      return {"text that is not empty", pattern("^.+$")};
    case ConfigFormat::folder_name:
      return {"text without slashes", pattern("^[^/]+$")};
    case ConfigFormat::endpoint:
      return {"HOST:PORT", pattern("^(\\[[^\\s/\\[\\]]+\\]|[^\\s/\\[\\]:]+):[0-9]{1,5}$")};
    case ConfigFormat::endpoint_or_off:
      return {"HOST:PORT or \"off\"",
              pattern("^(off|(\\[[^\\s/\\[\\]]+\\]|[^\\s/\\[\\]:]+):[0-9]{1,5})$")};
    case ConfigFormat::web_address:
      return {"http://HOST:PORT or https://HOST:PORT, optionally with a path",
              pattern("^https?://[^\\s/?#]+(/[^\\s?#]*)?$")};
    case ConfigFormat::path:
      return {"text (~/ is the home folder)", {{"type", "string"}}};
    default:
      return {"text", {{"type", "string"}}};
    }
  }
  Described operator()(const std::chrono::milliseconds*) const {
    return {"DURATION", "a duration such as 100ms, 5s, 1min, 2h",
            pattern("^[0-9]+(\\.[0-9]+)? *(ms|s|min|h)$")};
  }
  Described operator()(const Interval*) const {
    return {"INTERVAL", "N epochs, N steps, never",
            pattern("^(never|[1-9][0-9]* (epochs?|steps?))$")};
  }
  Described operator()(const Length*) const {
    return {"LENGTH",
            fmt::format("a number of epochs{}, or N steps, N tokens, N%", range_words(rule)),
            any_of(number("number"),
                   pattern("^([0-9]+(\\.[0-9]+)?([eE]\\+?[0-9]+)? (epochs?|steps?|tokens?)|"
                           "([0-9]{1,2}(\\.[0-9]+)?|100)%)$"))};
  }
  Described operator()(const ChoiceTarget& target) const {
    const auto choices = choices_of(target, rule);
    return {fmt::format("{}", fmt::join(target.words, "|")),
            fmt::format("{}", fmt::join(choices, ", ")),
            {{"enum", choices}}};
  }
  Described operator()(const Augmentation*) const {
    auto described = (*this)(ChoiceTarget{nullptr, choice_words<Augmentation>});
    described.placeholder = "NAME";
    return described;
  }
  Described operator()(const FormsTarget& target) const {
    auto words = OrderedJson::array(), options = OrderedJson::array();
    std::vector<std::string> forms;
    for (const auto& form : target.forms) {
      if (form.fields.empty()) {
        words.push_back(form.word == "null" ? OrderedJson(nullptr) : OrderedJson(form.word));
        forms.emplace_back(form.word);
        continue;
      }
      auto described = form.is_mapping() ? mapping(form) : of(form.fields.front());
      options.push_back(std::move(described.schema));
      forms.push_back(std::move(described.allowed));
    }
    if (!words.empty())
      options.insert(options.begin(), OrderedJson::object({{"enum", words}}));
    return {"VALUE", fmt::format("{}", fmt::join(forms, ", ")), {{"anyOf", options}}};
  }
  Described operator()(const std::map<std::string, double>*) const {
    const auto item = (*this)(static_cast<const double*>(nullptr));
    return {"{NAME: NUMBER}",
            "a mapping of names to numbers; each: " + item.allowed,
            {{"type", "object"},
             {"additionalProperties", item.schema},
             {"maxProperties", longest_config_list}}};
  }
  Described operator()(const std::array<double, 2>*) const {
    const auto item = (*this)(static_cast<const double*>(nullptr));
    return {"[NUMBER, NUMBER]",
            "a list of two; each item: " + item.allowed,
            {{"type", "array"}, {"items", item.schema}, {"minItems", 2}, {"maxItems", 2}}};
  }
  template <class T>
  Described operator()(const std::optional<T>*) const {
    const auto value = (*this)(static_cast<const T*>(nullptr));
    return {value.placeholder, value.allowed + ", or null",
            any_of(value.schema, {{"type", "null"}})};
  }
  template <class T>
  Described operator()(const std::vector<T>*) const {
    const auto item = (*this)(static_cast<const T*>(nullptr));
    OrderedJson list = {{"type", "array"}, {"items", item.schema}};
    if (rule.not_empty)
      list["minItems"] = 1;
    list["maxItems"] = longest_config_list;
    return {fmt::format("[{}, ...]", item.placeholder),
            fmt::format("a list{}; each item: {}", rule.not_empty ? " that is not empty" : "",
                        item.allowed),
            list};
  }

  static Described of(const ConfigKey& key) {
    return std::visit([&](const auto& target) { return Describe{key.rule}(target); }, key.target);
  }
  /// "{fit: SIZE}"
  static Described mapping(const ConfigForm& form) {
    std::vector<std::string> names;
    auto fields = OrderedJson::object();
    for (const auto& field : form.fields) {
      const auto described = of(field);
      names.push_back(field.path + ": " + described.placeholder);
      fields[field.path] = {{"description", field.help}};
      fields[field.path].update(described.schema);
    }
    return {"VALUE",
            fmt::format("{{{}}}", fmt::join(names, ", ")),
            {{"type", "object"},
             {"properties", fields},
             {"additionalProperties", false},
             {"minProperties", 1}}};
  }
};

OrderedJson key_schema(const ConfigKey& key) {
  OrderedJson schema = {{"description", key.help}};
  schema.update(Describe::of(key).schema);
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

std::string allowed_values(const ConfigKey& key) {
  return Describe::of(key).allowed;
}

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
