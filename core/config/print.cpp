// `config show`: prints the resolved config as YAML that loads to the same config.
#include "core/config/load.hpp"
#include "core/config/schema.hpp"

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

std::string config_value_text(const ConfigKey& key) {
  return std::visit([&](const auto& target) { return Print{key.rule.format}(target); }, key.target);
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
