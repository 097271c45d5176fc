#include "core/config/schema.hpp"

#include "core/escape.hpp"
#include "core/suggestion.hpp"
#include "core/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <iterator>

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

/// Stands for a field's value in the description of a mapping.
struct Placeholder {
  std::string operator()(const bool*) const { return "BOOL"; }
  std::string operator()(const std::int64_t*) const { return "N"; }
  std::string operator()(const std::uint64_t*) const { return "SIZE"; }
  std::string operator()(const double*) const { return "NUMBER"; }
  std::string operator()(const Interval*) const { return "INTERVAL"; }
  std::string operator()(const ChoiceTarget& target) const {
    return fmt::format("{}", fmt::join(target.words, "|"));
  }
  std::string operator()(const std::string*) const { return "TEXT"; }
  std::string operator()(const std::chrono::milliseconds*) const { return "DURATION"; }
  std::string operator()(const Length*) const { return "LENGTH"; }
  std::string operator()(const Augmentation*) const { return "NAME"; }
  std::string operator()(const std::map<std::string, double>*) const { return "{NAME: NUMBER}"; }
  std::string operator()(const std::array<double, 2>*) const { return "[NUMBER, NUMBER]"; }
  std::string operator()(const FormsTarget&) const { return "VALUE"; }
  template <class T>
  std::string operator()(const std::optional<T>*) const {
    return (*this)(static_cast<const T*>(nullptr));
  }
  template <class T>
  std::string operator()(const std::vector<T>*) const {
    return fmt::format("[{}, ...]", (*this)(static_cast<const T*>(nullptr)));
  }
};

std::string placeholder(const ConfigTarget& target) {
  return std::visit([](const auto& member) { return Placeholder{}(member); }, target);
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
  std::string operator()(const ChoiceTarget& target) const {
    return fmt::format("{}", fmt::join(choices_of(target, rule), ", "));
  }
  std::string operator()(const FormsTarget& target) const {
    std::vector<std::string> forms;
    for (const auto& form : target.forms)
      forms.push_back(describe(form));
    return fmt::format("{}", fmt::join(forms, ", "));
  }
  std::string operator()(const std::map<std::string, double>*) const {
    return "a mapping of names to numbers; each: " + (*this)(static_cast<const double*>(nullptr));
  }
  std::string operator()(const Augmentation*) const {
    return (*this)(ChoiceTarget{nullptr, choice_words<Augmentation>});
  }
  std::string operator()(const std::array<double, 2>*) const {
    return "a list of two; each item: " + (*this)(static_cast<const double*>(nullptr));
  }
  template <class T>
  std::string operator()(const std::optional<T>*) const {
    return (*this)(static_cast<const T*>(nullptr)) + ", or null";
  }
  template <class T>
  std::string operator()(const std::vector<T>*) const {
    return fmt::format("a list{}; each item: {}", rule.not_empty ? " that is not empty" : "",
                       (*this)(static_cast<const T*>(nullptr)));
  }

  /// "none", "{fit: bytes or a size}", "a number, at least 0".
  static std::string describe(const ConfigForm& form) {
    if (form.fields.empty())
      return std::string{form.word};
    if (!form.is_mapping())
      return allowed_values(form.fields.front());
    std::vector<std::string> names;
    for (const auto& field : form.fields)
      names.push_back(field.path + ": " + placeholder(field.target));
    return fmt::format("{{{}}}", fmt::join(names, ", "));
  }
};

/// Rejects line breaks too: a folder's name with one would split lines of the log.
bool is_folder_name(const std::string& text) {
  return !text.empty() && text != "." && text != ".." &&
         std::ranges::none_of(text, [](unsigned char c) { return c == '/' || c < 0x20; });
}

/// "std[1]: " for an item of a field; empty for a value that is not in a mapping.
std::string prefix(const ConfigKey& field, int item) {
  if (field.path.empty())
    return {};
  return item < 0 ? field.path + ": " : fmt::format("{}[{}]: ", field.path, item);
}

/// Collects the ways in which a value breaks its rule.
struct Check {
  const ConfigRule& rule;
  std::vector<ValueProblem>& breaches;
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
  void operator()(const ChoiceTarget& target) const {
    const auto allowed = choices_of(target, rule);
    const auto number = std::size_t{*target.number};
    if (number >= target.words.size())
      fails(fmt::format("{} is not a choice", number));
    else if (std::ranges::count(allowed, target.words[number]) == 0)
      fails(fmt::format("\"{}\" is not a choice", target.words[number]));
  }
  void operator()(const FormsTarget& target) const {
    for (const auto& field : form_of(target).fields)
      for (auto& breach : check_rule(field))
        breaches.push_back(
            {prefix(field, breach.item) + breach.what, std::move(breach.suggestion), breach.item});
  }
  void operator()(const Augmentation*) const {}
  void operator()(const std::array<double, 2>* v) const {
    for (const double value : *v)
      (*this)(&value);
  }
  template <std::integral T>
  void operator()(const T* v) const {
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
    if (rule.not_empty && v->empty())
      fails("the list is empty");
    Check each{rule, breaches};
    for (const auto& value : *v) {
      ++each.item;
      each(&value);
    }
  }
};

} // namespace

std::vector<std::string> choices_of(const ChoiceTarget& target, const ConfigRule& rule) {
  return rule.choices.empty() ? std::vector<std::string>{target.words.begin(), target.words.end()}
                              : rule.choices;
}

const ConfigKey* find_key(std::span<const ConfigKey> keys, std::string_view path) {
  const auto found = std::ranges::find(keys, path, &ConfigKey::path);
  return found == keys.end() ? nullptr : &*found;
}

std::vector<ConfigKey> with_fields(std::vector<ConfigKey> keys) {
  std::vector<ConfigKey> fields;
  for (const auto& key : keys)
    if (const auto* forms = std::get_if<FormsTarget>(&key.target))
      for (const auto& form : forms->forms)
        for (const auto& field : form.is_mapping() ? form.fields : std::vector<ConfigKey>{}) {
          fields.emplace_back(field).path = fmt::format("{}.{}", key.path, field.path);
          fields.back().prepare = [fits = form.fits, choose = form.choose] {
            if (!fits())
              choose();
          };
        }
  std::ranges::move(fields, std::back_inserter(keys));
  return keys;
}

const ConfigForm& form_of(const FormsTarget& target) {
  const auto found =
      std::ranges::find_if(target.forms, [](const auto& form) { return form.fits(); });
  return found == target.forms.end() ? target.forms.back() : *found;
}

std::vector<std::string> choices_of(const ConfigKey& key) {
  if (const auto* choice = std::get_if<ChoiceTarget>(&key.target))
    return choices_of(*choice, key.rule);
  if (std::holds_alternative<std::vector<Augmentation>*>(key.target))
    return choices_of({nullptr, choice_words<Augmentation>}, key.rule);
  auto words = key.rule.choices;
  if (const auto* forms = std::get_if<FormsTarget>(&key.target)) {
    for (const auto& form : forms->forms)
      if (!form.word.empty())
        words.emplace_back(form.word);
      else if (!form.fields.empty() && !form.is_mapping())
        std::ranges::move(choices_of(form.fields.front()), std::back_inserter(words));
  }
  return words;
}

std::string allowed_values(const ConfigKey& key) {
  return std::visit([&](const auto& target) { return Describe{key.rule}(target); }, key.target);
}

std::vector<ValueProblem> check_rule(const ConfigKey& key) {
  std::vector<ValueProblem> breaches;
  std::visit([&](const auto& target) { Check{key.rule, breaches}(target); }, key.target);
  return breaches;
}

} // namespace troupe
