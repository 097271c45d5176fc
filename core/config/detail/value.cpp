#include "core/config/detail/value.hpp"

#include "core/escape.hpp"
#include "core/suggestion.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <optional>

namespace troupe {

namespace {

/// Whether a scalar was written without quotes, so that it may be a number, a bool or null.
bool is_plain(const YAML::Node& node) {
  return node.IsScalar() && node.Tag() == "?";
}

bool is_null(const YAML::Node& node) {
  if (node.IsNull())
    return true;
  if (!is_plain(node))
    return false;
  const auto& text = node.Scalar();
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

template <class T>
bool parse_number(std::string_view text, T& value) {
  if (text.starts_with('+'))
    text.remove_prefix(1);
  T parsed = {};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc{} || end != text.data() + text.size())
    return false;
  value = parsed;
  return true;
}

bool parse_bool(std::string_view text, bool& value) {
  const bool yes = text == "true" || text == "True" || text == "TRUE";
  if (!yes && text != "false" && text != "False" && text != "FALSE")
    return false;
  value = yes;
  return true;
}

/// Whether the node is neither a number nor a bool, as an editor with the JSON schema sees it.
bool is_text(const YAML::Node& node) {
  double number = 0;
  bool boolean = false;
  return !is_plain(node) || !(parse_bool(node.Scalar(), boolean) ||
                              (parse_number(node.Scalar(), number) && std::isfinite(number)));
}

/// Returns the bool that was probably meant; accepts YAML 1.1's words for it.
std::string bool_meant(const YAML::Node& node) {
  static const std::array<std::string, 12> known = {"true",  "True",  "yes", "on",  "y", "1",
                                                    "false", "False", "no",  "off", "n", "0"};
  if (!node.IsScalar())
    return {};
  for (std::size_t i = 0; i < known.size(); ++i)
    if (edit_distance(node.Scalar(), known[i]) == 0)
      return i < 6 ? "true" : "false";
  return suggest(node.Scalar(), std::array<std::string, 2>{"true", "false"});
}

/// Returns the text, with the home folder in place of "~" if it is a path that begins with "~/".
/// Returns nullopt if HOME is not set.
std::optional<std::string> expanded(const std::string& text, const ConfigRule& rule) {
  if (rule.format != ConfigFormat::path || !text.starts_with("~/"))
    return text;
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0')
    return std::nullopt;
  return home + text.substr(1);
}

/// Assigns the node to the target's type; adds to `problems` if the node does not fit.
struct Assign {
  const YAML::Node& node;
  const ConfigRule& rule;
  std::vector<ValueProblem>& problems;
  int item = -1;

  void fails(std::string what, std::string suggestion = {}) const {
    problems.push_back({std::move(what), std::move(suggestion), item});
  }
  void wrong_type(std::string suggestion = {}) const {
    if (is_null(node))
      fails("needs a value");
    else
      fails(describe_node(node) + " has the wrong type", std::move(suggestion));
  }
  template <class T>
  void whole_number(T* target) const {
    if (!is_plain(node) || node.Scalar().find_first_not_of("+-0123456789") != std::string::npos)
      wrong_type();
    else if (!parse_number(node.Scalar(), *target)) // too big for the type, or negative
      fails(echoed(node.Scalar()) + " is out of range");
  }

  /// Reports a list or a mapping with too many items.
  bool is_too_long() const {
    if (node.size() <= longest_config_list)
      return false;
    fails(fmt::format("{} items exceed the limit of {}", node.size(), longest_config_list));
    return true;
  }
  bool is_quoted_number() const {
    return !is_plain(node) && node.Scalar().find_first_not_of("0123456789") == std::string::npos;
  }

  void operator()(bool* target) const {
    if (!is_plain(node) || !parse_bool(node.Scalar(), *target))
      wrong_type(bool_meant(node));
  }
  void operator()(std::int64_t* target) const { whole_number(target); }
  void operator()(std::uint64_t* target) const {
    if (rule.format != ConfigFormat::size) {
      whole_number(target);
    } else if (!node.IsScalar()) {
      wrong_type();
    } else if (const auto size = parse_size(node.Scalar()); size && !is_quoted_number()) {
      *target = *size;
    } else {
      fails(describe_node(node) + " is not a size");
    }
  }
  void operator()(double* target) const {
    double value = 0;
    if (!is_plain(node) || !parse_number(node.Scalar(), value) || !std::isfinite(value))
      wrong_type();
    else
      *target = value;
  }
  void operator()(std::string* target) const {
    if (!node.IsScalar() || is_null(node))
      wrong_type();
    else if (!is_text(node))
      fails(echoed(node.Scalar()) + " is not text; write it in quotes");
    else if (auto text = expanded(node.Scalar(), rule))
      *target = *std::move(text);
    else
      fails("cannot expand ~/: HOME is not set");
  }
  /// Assigns a scalar that is parsed as text.
  template <class T>
  void parsed(T* target, std::optional<T> (*parse)(std::string_view), const char* what) const {
    if (const auto value = node.IsScalar() ? parse(node.Scalar()) : std::nullopt)
      *target = *value;
    else
      fails(fmt::format("{} is not {}", describe_node(node), what));
  }

  void operator()(std::chrono::milliseconds* target) const {
    parsed(target, parse_duration, "a duration");
  }
  void operator()(Interval* target) const { parsed(target, parse_interval, "an interval"); }
  void operator()(Length* target) const {
    double epochs = 0;
    if (is_plain(node) && parse_number(node.Scalar(), epochs) && std::isfinite(epochs))
      *target = {epochs};
    else
      parsed(target, parse_length, "a length");
  }
  void operator()(const ChoiceTarget& target) const {
    std::string word;
    if (!assigns(&word))
      return;
    const auto allowed = choices_of(target, rule);
    if (std::ranges::count(allowed, word) == 0)
      return fails(not_a_choice(word), suggest(word, allowed));
    const auto found = std::ranges::find(target.words, word);
    *target.number = static_cast<std::uint8_t>(found - target.words.begin());
  }
  void operator()(Augmentation* target) const { (*this)(choice(*target)); }
  void operator()(const FormsTarget& target) const {
    if (const auto* form = form_with_word(target))
      return form->choose();
    assign_plain(target);
  }
  void operator()(std::array<double, 2>* target) const {
    std::vector<double> values;
    if (!assigns(&values))
      return;
    if (values.size() != target->size())
      return fails(fmt::format("{} numbers instead of {}", values.size(), target->size()));
    std::ranges::copy(values, target->begin());
  }
  void operator()(std::map<std::string, double>* target) const {
    if (!node.IsMap())
      return wrong_type();
    if (is_too_long())
      return;
    std::map<std::string, double> values;
    const auto before = problems.size();
    for (const auto& entry : node) {
      std::string name;
      (*this)(entry.first, &name);
      if (!values.emplace(name, 0).second)
        fails(fmt::format("{} is given twice", echoed(name, 60)));
      (*this)(entry.second, &values[name]);
    }
    if (problems.size() == before)
      *target = std::move(values);
  }
  static std::string not_a_choice(const std::string& word) {
    return fmt::format("\"{}\" is not a choice", echoed(word, 60));
  }
  /// Returns the form whose word the node is; null if there is none.
  const ConfigForm* form_with_word(const FormsTarget& target) const {
    for (const auto& form : target.forms)
      if (form.word == "null" ? is_null(node)
                              : !form.word.empty() && node.IsScalar() && node.Scalar() == form.word)
        return &form;
    return nullptr;
  }
  /// Assigns a list, a number or a text to the first form that can hold it.
  void assign_plain(const FormsTarget& target) const {
    std::vector<std::string> words;
    std::vector<ValueProblem> found;
    for (const auto& form : target.forms) {
      if (!form.word.empty())
        words.emplace_back(form.word);
      if (form.fields.empty() || form.is_mapping())
        continue;
      found.clear();
      form.choose();
      for (const auto& field : form.fields)
        if (found.empty())
          Assign{node, field.rule, found}(field);
      if (found.empty())
        return;
    }
    if (is_text(node) && node.IsScalar() && !is_null(node) && !words.empty())
      return fails(not_a_choice(node.Scalar()), suggest(node.Scalar(), words));
    if (found.empty())
      return wrong_type();
    std::ranges::move(found, std::back_inserter(problems));
  }
  void operator()(const ConfigKey& field) const {
    std::visit([this](const auto& target) { (*this)(target); }, field.target);
  }
  /// Assigns the node to another target; returns whether it fits.
  template <class T>
  bool assigns(T* target) const {
    const auto before = problems.size();
    (*this)(target);
    return problems.size() == before;
  }
  /// Assigns a part of this value.
  template <class T>
  void operator()(const YAML::Node& part, T* target) const {
    Assign{part, rule, problems, item}(target);
  }
  template <class T>
  void operator()(std::optional<T>* target) const {
    if (T value = {}; is_null(node))
      target->reset();
    else if (assigns(&value))
      *target = std::move(value);
  }
  template <class T>
  void operator()(std::vector<T>* target) const {
    if (!node.IsSequence())
      return wrong_type(node.IsScalar() && !is_null(node) ? fmt::format("[{}]", node.Scalar())
                                                          : std::string{});
    if (is_too_long())
      return;
    std::vector<T> values(node.size());
    const auto before = problems.size();
    for (std::size_t i = 0; i < node.size(); ++i) {
      const YAML::Node child = node[i];
      Assign{child, rule, problems, static_cast<int>(i)}(&values[i]);
    }
    if (problems.size() == before)
      *target = std::move(values);
  }
};

} // namespace

std::string describe_node(const YAML::Node& node) {
  if (node.IsSequence())
    return "a list";
  if (node.IsMap())
    return "a mapping";
  if (!node.IsScalar() || is_null(node))
    return "null";
  const auto text = echoed(node.Scalar(), 60);
  return is_text(node) ? fmt::format("\"{}\"", text) : text;
}

std::vector<ValueProblem> assign_value(const YAML::Node& node, const ConfigKey& key) {
  std::vector<ValueProblem> problems;
  Assign{node, key.rule, problems}(key);
  return problems.empty() ? check_rule(key) : problems;
}

} // namespace troupe
