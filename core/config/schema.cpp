#include "core/config/schema.hpp"

#include "core/escape.hpp"
#include "core/suggestion.hpp"
#include "core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace troupe {

namespace {

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

/// Describes one value of the C++ type, or one item of a list.
struct Describe {
  const ConfigRule& rule;

  std::string operator()(const bool*) const { return "true or false"; }
  std::string operator()(const std::int64_t*) const { return "a whole number" + range_words(rule); }
  std::string operator()(const std::uint64_t*) const {
    if (rule.format == ConfigFormat::size)
      return fmt::format("bytes or a size such as 512KiB, 25MiB, 1GiB, at least {}",
                         rule.min.value_or(0));
    return "a whole number, at least 0";
  }
  std::string operator()(const double*) const { return "a number" + range_words(rule); }
  std::string operator()(const std::string*) const {
    if (!rule.choices.empty())
      return fmt::format("{}", fmt::join(rule.choices, ", "));
    switch (rule.format) {
    case ConfigFormat::not_empty:
      return "text that is not empty";
    case ConfigFormat::folder_name:
      return "text without slashes";
    case ConfigFormat::endpoint:
      return "HOST:PORT";
    case ConfigFormat::endpoint_or_off:
      return "HOST:PORT or \"off\"";
    case ConfigFormat::web_address:
      return "http://HOST:PORT or https://HOST:PORT, optionally with a path";
    case ConfigFormat::path:
      return "text (~/ is the home folder)";
    default:
      return "text";
    }
  }
  std::string operator()(const std::chrono::milliseconds*) const {
    return "a duration such as 100ms, 5s, 1min, 2h";
  }
  std::string operator()(const Interval*) const { return "N epochs, N steps, never"; }
  std::string operator()(const Length*) const {
    return fmt::format("a number of epochs{}, or N steps, N tokens, N%", range_words(rule));
  }
  std::string operator()(const RecomputeConfig*) const {
    return "none, block, a list of names, or {fit: SIZE}";
  }
  std::string operator()(const StrategyKind*) const {
    return (*this)(static_cast<const std::string*>(nullptr));
  }
  std::string operator()(const std::map<std::string, double>*) const {
    return "a mapping of names to numbers; each: " + (*this)(static_cast<const double*>(nullptr));
  }
  template <class T>
  std::string operator()(const std::optional<T>*) const {
    return (*this)(static_cast<const T*>(nullptr)) + ", or null";
  }
  template <class T>
  std::string operator()(const std::vector<T>*) const {
    return "a list; each item: " + (*this)(static_cast<const T*>(nullptr));
  }
};

/// Rejects line breaks too: a folder's name with one would split lines of the log.
bool is_folder_name(const std::string& text) {
  return !text.empty() && text != "." && text != ".." &&
         std::ranges::none_of(text, [](unsigned char c) { return c == '/' || c < 0x20; });
}

/// Collects the ways in which a value breaks its rule.
struct Check {
  const ConfigRule& rule;
  std::vector<RuleBreach>& breaches;
  int item = -1;

  void fails(std::string what, std::string suggestion = {}) const {
    breaches.push_back({std::move(what), std::move(suggestion), item});
  }
  void range(double value, const std::string& shown) const {
    const bool low = rule.min && (rule.above_min ? value <= *rule.min : value < *rule.min);
    const bool high = rule.max && (rule.below_max ? value >= *rule.max : value > *rule.max);
    if (low || high || !std::isfinite(value))
      fails(shown + " is out of range");
  }

  void operator()(const bool*) const {}
  void operator()(const Interval*) const {}
  void operator()(const Length* v) const { range(v->count, format_length(*v)); }
  void operator()(const RecomputeConfig* v) const { (*this)(&v->names); }
  void operator()(const StrategyKind*) const {}
  void operator()(const std::int64_t* v) const {
    range(static_cast<double>(*v), std::to_string(*v));
  }
  void operator()(const std::uint64_t* v) const {
    range(static_cast<double>(*v), std::to_string(*v));
  }
  void operator()(const double* v) const { range(*v, fmt::format("{}", *v)); }
  void operator()(const std::chrono::milliseconds* v) const {
    range(static_cast<double>(v->count()), fmt::format("{}ms", v->count()));
  }
  /// Text that is not UTF-8 cannot be written to JSON: checkpoints, metrics, the run's page.
  bool encoding(const std::string& text) const {
    if (is_utf8(text))
      return true;
    fails(fmt::format("\"{}\" is not UTF-8", echoed(text, 60)));
    return false;
  }
  void operator()(const std::string* v) const {
    if (!encoding(*v)) {
      return;
    } else if (!rule.choices.empty()) {
      if (std::find(rule.choices.begin(), rule.choices.end(), *v) == rule.choices.end())
        fails(fmt::format("\"{}\" is not a choice", echoed(*v, 60)), suggest(*v, rule.choices));
    } else if (rule.format == ConfigFormat::not_empty) {
      if (v->empty())
        fails("it is empty");
    } else if (rule.format == ConfigFormat::folder_name) {
      if (!is_folder_name(*v))
        fails(fmt::format("\"{}\" is not a folder name", echoed(*v, 60)));
    } else if (rule.format == ConfigFormat::endpoint ||
               (rule.format == ConfigFormat::endpoint_or_off && *v != "off")) {
      if (!parse_endpoint(*v))
        fails(fmt::format("\"{}\" is not an address", echoed(*v, 60)));
    } else if (rule.format == ConfigFormat::web_address && !is_web_address(*v)) {
      fails("not an http(s) URL"); // not echoed: it may contain a password
    }
  }
  void operator()(const std::map<std::string, double>* v) const {
    for (const auto& [name, value] : *v)
      if (encoding(name))
        range(value, fmt::format("{}: {}", echoed(name, 60), value));
  }
  template <class T>
  void operator()(const std::optional<T>* v) const {
    if (v->has_value())
      (*this)(&**v);
  }
  template <class T>
  void operator()(const std::vector<T>* v) const {
    Check each{rule, breaches};
    for (const auto& value : *v) {
      ++each.item;
      each(&value);
    }
  }
};

} // namespace

std::string allowed_values(const ConfigKey& key) {
  return std::visit([&](auto* target) { return Describe{key.rule}(target); }, key.target);
}

std::vector<RuleBreach> check_rule(const ConfigKey& key) {
  std::vector<RuleBreach> breaches;
  std::visit([&](auto* target) { Check{key.rule, breaches}(target); }, key.target);
  return breaches;
}

} // namespace troupe
