// `config show`: prints the resolved config as YAML that loads to the same config.
#include "core/config/load.hpp"
#include "core/config/schema.hpp"
#include "core/config/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace troupe {

namespace {

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

struct Print {
  ConfigFormat format = ConfigFormat::plain;

  std::string operator()(const bool* v) const { return *v ? "true" : "false"; }
  std::string operator()(const std::int64_t* v) const { return std::to_string(*v); }
  std::string operator()(const std::uint64_t* v) const {
    return format == ConfigFormat::size ? format_size(*v) : std::to_string(*v);
  }
  std::string operator()(const double* v) const { return fmt::format("{}", *v); }
  std::string operator()(const std::string* v) const { return word(*v); }
  std::string operator()(const std::chrono::milliseconds* v) const { return format_duration(*v); }
  std::string operator()(const Interval* v) const { return format_interval(*v); }
  std::string operator()(const Length* v) const { return format_length(*v); }
  std::string operator()(const ChoiceTarget& target) const {
    return word(target.words[*target.number]);
  }
  std::string operator()(const Augmentation* v) const { return word(to_string(*v)); }
  std::string operator()(const FormsTarget& target) const {
    const auto& form = form_of(target);
    if (form.fields.empty())
      return form.word == "null" ? "null" : word(form.word);
    if (!form.is_mapping())
      return config_value_text(form.fields.front());
    std::vector<std::string> items;
    for (const auto& field : form.fields)
      items.push_back(fmt::format("{}: {}", field.path, config_value_text(field)));
    return fmt::format("{{{}}}", fmt::join(items, ", "));
  }
  std::string operator()(const std::array<double, 2>* v) const {
    return fmt::format("[{}, {}]", (*v)[0], (*v)[1]);
  }
  std::string operator()(const std::map<std::string, double>* v) const {
    std::vector<std::string> items;
    for (const auto& [name, value] : *v)
      items.push_back(fmt::format("{}: {}", (*this)(&name), value));
    return fmt::format("{{{}}}", fmt::join(items, ", "));
  }
  template <class T>
  std::string operator()(const std::optional<T>* v) const {
    return v->has_value() ? (*this)(&**v) : "null";
  }
  template <class T>
  std::string operator()(const std::vector<T>* v) const {
    std::vector<std::string> items;
    for (const auto& value : *v)
      items.push_back((*this)(&value));
    return fmt::format("[{}]", fmt::join(items, ", "));
  }

  static std::string word(std::string_view text) {
    return is_plain_word(text) ? std::string{text} : in_quotes(text);
  }
};

/// Returns the defaults of hidden keys, which are printed only with other values.
std::map<std::string, std::string> hidden_values(const Catalogue& catalogue) {
  auto defaults = default_config(catalogue);
  std::map<std::string, std::string> values;
  for (const auto& key : config_keys(defaults, catalogue))
    if (key.hidden)
      values.emplace(key.path, config_value_text(key));
  return values;
}

} // namespace

std::string config_value_text(const ConfigKey& key) {
  return std::visit([&](const auto& target) { return Print{key.rule.format}(target); }, key.target);
}

std::string to_yaml(const Config& config, const Catalogue& catalogue,
                    const ConfigComment& comment) {
  auto copy = config; // keys point to writable members
  const auto hidden_defaults = hidden_values(catalogue);
  std::string out, open;
  for (const auto& key : config_keys(copy, catalogue)) {
    const auto value = config_value_text(key);
    const auto said = comment(key);
    if (!said || (key.hidden && hidden_defaults.at(key.path) == value))
      continue;
    const auto dot = key.path.rfind('.');
    const auto section = key.path.substr(0, dot);
    const auto depth = static_cast<std::size_t>(std::count(section.begin(), section.end(), '.'));
    if (section != open) {
      // A subsection's parent is already open if the parent's own keys came before it.
      const auto parent_end = section.rfind('.');
      const auto parent =
          parent_end == std::string::npos ? std::string{} : section.substr(0, parent_end);
      const bool parent_is_open =
          parent.empty() || open == parent || open.starts_with(parent + ".");
      if (!parent_is_open)
        out += parent + ":\n";
      if (!open.starts_with(section + "."))
        out += fmt::format("{:{}}{}:\n", "", 2 * depth,
                           parent.empty() ? section : section.substr(parent_end + 1));
      open = section;
    }
    out += fmt::format("{:{}}{}: {}{}{}\n", "", 2 * depth + 2, key.path.substr(dot + 1), value,
                       said->empty() ? "" : "  # ", *said);
  }
  return out;
}

std::string to_yaml(const Config& config, const Catalogue& catalogue) {
  return to_yaml(config, catalogue,
                 [](const ConfigKey&) { return std::optional<std::string>{""}; });
}

} // namespace troupe
