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

std::vector<ValueProblem> check_rule(const ConfigKey& key) {
  std::vector<ValueProblem> breaches;
  std::visit([&](const auto& target) { Check{key.rule, breaches}(target); }, key.target);
  return breaches;
}

} // namespace troupe
