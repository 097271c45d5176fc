// Values of keys as JSON and as YAML; `config show`, whose YAML loads to the same config.
#include "core/config/detail/value.hpp"
#include "core/config/load.hpp"
#include "core/config/schema.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

namespace troupe {

namespace {

using OrderedJson = nlohmann::ordered_json;

/// Whether YAML reads the text back as the same text without quotes.
bool is_plain_word(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto safe = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
  };
  constexpr std::string_view not_text[] = {"null",  "Null",  "NULL",  "true",     "True", "TRUE",
                                           "false", "False", "FALSE", "yes",      "no",   "on",
                                           "off",   "inf",   "nan",   "infinity", "y",    "n"};
  return !text.empty() && (letter(text.front()) || text.front() == '/') &&
         std::all_of(text.begin(), text.end(), safe) &&
         std::find(std::begin(not_text), std::end(not_text), text) == std::end(not_text);
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

/// A member's value as JSON. For YAML, texts are in quotes where they need them.
struct ValueJson {
  ConfigFormat format;
  bool for_yaml;

  OrderedJson operator()(const std::string* v) const { return text(*v); }
  OrderedJson operator()(const std::chrono::milliseconds* v) const { return format_duration(*v); }
  OrderedJson operator()(const Interval* v) const { return format_interval(*v); }
  OrderedJson operator()(const Length* v) const {
    return v->unit == Length::Unit::epochs ? OrderedJson(v->count) : OrderedJson(format_length(*v));
  }
  OrderedJson operator()(const ChoiceTarget& target) const {
    return text(target.words[*target.number]);
  }
  OrderedJson operator()(const Augmentation* v) const { return text(to_string(*v)); }
  OrderedJson operator()(const FormsTarget& target) const {
    const auto& form = form_of(target);
    if (form.fields.empty())
      return form.word == "null" ? OrderedJson(nullptr) : OrderedJson(text(form.word));
    if (!form.is_mapping())
      return of(form.fields.front(), for_yaml);
    auto fields = OrderedJson::object();
    for (const auto& field : form.fields)
      fields[field.path] = of(field, for_yaml);
    return fields;
  }
  OrderedJson operator()(const std::uint64_t* v) const {
    return format == ConfigFormat::size ? OrderedJson(format_size(*v)) : OrderedJson(*v);
  }
  OrderedJson operator()(const std::map<std::string, double>* v) const {
    auto object = OrderedJson::object();
    for (const auto& [name, value] : *v)
      object[text(name)] = value;
    return object;
  }
  template <class T>
  OrderedJson operator()(const std::optional<T>* v) const {
    return v->has_value() ? (*this)(&**v) : OrderedJson(nullptr);
  }
  template <class T>
  OrderedJson operator()(const std::vector<T>* v) const {
    auto list = OrderedJson::array(); // an array even if it is empty
    for (const auto& value : *v)
      list.push_back((*this)(&value));
    return list;
  }
  template <class T>
  OrderedJson operator()(const T* v) const {
    return *v;
  }

  std::string text(std::string_view words) const {
    return for_yaml && !is_plain_word(words) ? in_quotes(words) : std::string{words};
  }

  static OrderedJson of(const ConfigKey& key, bool for_yaml) {
    return std::visit(
        [&](const auto& target) {
          return ValueJson{key.rule.format, for_yaml}(target);
        },
        key.target);
  }
};

/// Writes a value for YAML in one line.
std::string in_one_line(const OrderedJson& value) {
  if (value.is_string())
    return value.get<std::string>();
  if (value.is_number_float())
    return fmt::format("{}", value.get<double>());
  if (!value.is_structured())
    return value.dump();
  std::vector<std::string> items;
  for (const auto& [name, item] : value.items())
    items.push_back((value.is_object() ? name + ": " : "") + in_one_line(item));
  const auto list = fmt::format("{}", fmt::join(items, ", "));
  return value.is_object() ? "{" + list + "}" : "[" + list + "]";
}

std::string indentation(std::string_view path) {
  return std::string(2 * static_cast<std::size_t>(std::ranges::count(path, '.')), ' ');
}

/// Returns the lines that open a section and those that contain it, as far as they are not open
/// since the section before it.
std::string opened_sections(std::string_view section, const std::string& before) {
  std::string out;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = section.find('.', end + 1);
    const auto part = section.substr(0, end);
    if (!(before + '.').starts_with(std::string{part} + '.'))
      out += fmt::format("{}{}:\n", indentation(part), part.substr(part.rfind('.') + 1));
  }
  return out;
}

} // namespace

nlohmann::ordered_json config_value_json(const ConfigKey& key) {
  return ValueJson::of(key, false);
}

std::string config_value_text(const ConfigKey& key) {
  return in_one_line(ValueJson::of(key, true));
}

std::string to_yaml(const Config& config, const Catalogue& catalogue,
                    const ConfigComment& comment) {
  auto copy = config, untouched = default_config(catalogue); // keys point to writable members
  const auto defaults = config_keys(untouched, catalogue);
  std::string out, open;
  for (const auto& key : config_keys(copy, catalogue)) {
    const auto value = config_value_text(key);
    const auto said = comment(key);
    const bool is_shown = !key.hidden || config_value_text(*find_key(defaults, key.path)) != value;
    if (!said || !is_shown)
      continue;
    out += opened_sections(key.section(), open);
    open = key.section();
    out += fmt::format("{}{}: {}{}{}\n", indentation(key.path), key.name(), value,
                       said->empty() ? "" : "  # ", *said);
  }
  return out;
}

} // namespace troupe
