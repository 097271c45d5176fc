#include "core/config/detail/value.hpp"

#include "core/escape.hpp"
#include "core/suggestion.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
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
  void operator()(std::chrono::milliseconds* target) const {
    const auto duration = node.IsScalar() ? parse_duration(node.Scalar()) : std::nullopt;
    if (duration)
      *target = *duration;
    else
      fails(describe_node(node) + " is not a duration");
  }
  void operator()(Interval* target) const {
    const auto interval = node.IsScalar() ? parse_interval(node.Scalar()) : std::nullopt;
    if (interval)
      *target = *interval;
    else
      fails(describe_node(node) + " is not an interval");
  }
  void operator()(Length* target) const {
    double epochs = 0;
    if (is_plain(node) && parse_number(node.Scalar(), epochs) && std::isfinite(epochs))
      *target = {epochs};
    else if (const auto length = node.IsScalar() ? parse_length(node.Scalar()) : std::nullopt)
      *target = *length;
    else
      fails(describe_node(node) + " is not a length");
  }
  void operator()(StrategyKind* target) const {
    std::string name;
    const auto before = problems.size();
    (*this)(&name);
    if (problems.size() != before)
      return;
    if (const auto kind = strategy_named(name))
      *target = *kind;
    else
      fails(fmt::format("\"{}\" is not a choice", echoed(name, 60)), suggest(name, rule.choices));
  }
  void operator()(RecomputeConfig* target) const {
    using Kind = RecomputeConfig::Kind;
    if (node.IsSequence()) {
      RecomputeConfig named{.kind = Kind::names};
      const auto before = problems.size();
      (*this)(&named.names);
      if (problems.size() == before && named.names.empty())
        fails("the list is empty", "none");
      else if (problems.size() == before)
        *target = std::move(named);
    } else if (node.IsMap()) {
      if (node.size() != 1 || !node["fit"])
        return fails("the only mapping allowed here is {fit: SIZE}");
      RecomputeConfig fitting{.kind = Kind::fit};
      const YAML::Node size = node["fit"];
      const ConfigRule bytes{.min = 1, .format = ConfigFormat::size};
      const auto before = problems.size();
      Assign{size, bytes, problems}(&fitting.fit_bytes);
      if (problems.size() == before && fitting.fit_bytes == 0)
        fails("nothing fits into 0 bytes");
      else if (problems.size() == before)
        *target = fitting;
    } else if (node.IsScalar() && !is_null(node)) {
      static const std::array<std::string, 2> words = {"none", "block"};
      if (node.Scalar() != "none" && node.Scalar() != "block")
        return fails(describe_node(node) + " is not a choice", suggest(node.Scalar(), words));
      *target = {.kind = node.Scalar() == "block" ? Kind::block : Kind::none};
    } else {
      wrong_type();
    }
  }
  void operator()(std::map<std::string, double>* target) const {
    if (!node.IsMap())
      return wrong_type();
    if (node.size() > longest_config_list)
      return fails(
          fmt::format("{} items exceed the limit of {}", node.size(), longest_config_list));
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
  /// Assigns a part of this value.
  template <class T>
  void operator()(const YAML::Node& part, T* target) const {
    Assign{part, rule, problems, item}(target);
  }
  template <class T>
  void operator()(std::optional<T>* target) const {
    if (is_null(node)) {
      target->reset();
      return;
    }
    T value = {};
    const auto before = problems.size();
    (*this)(&value);
    if (problems.size() == before)
      *target = std::move(value);
  }
  template <class T>
  void operator()(std::vector<T>* target) const {
    if (!node.IsSequence()) {
      wrong_type(node.IsScalar() && !is_null(node) ? fmt::format("[{}]", node.Scalar())
                                                   : std::string{});
      return;
    }
    if (node.size() > longest_config_list) {
      fails(fmt::format("{} items exceed the limit of {}", node.size(), longest_config_list));
      return;
    }
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
  std::visit([&](auto* target) { Assign{node, key.rule, problems}(target); }, key.target);
  if (!problems.empty())
    return problems;
  for (auto& breach : check_rule(key))
    problems.push_back({std::move(breach.what), std::move(breach.suggestion), breach.item});
  return problems;
}

} // namespace troupe
