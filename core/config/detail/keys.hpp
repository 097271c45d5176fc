/// Makers of keys, their rules and their forms, for the tables of keys in keys*.cpp.
#pragma once

#include "core/config/schema.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace troupe {

/// Returns a key that sets a member. A Choice is set by its words; the forms of a value that is
/// written in several ways are bound to their member already.
template <class T>
ConfigKey bound_key(std::string path, T&& member, ConfigRule rule, std::string help = {}) {
  const auto key = [&](ConfigTarget target) {
    return ConfigKey{std::move(path), std::move(target), std::move(rule), std::move(help)};
  };
  if constexpr (Choice<std::remove_cvref_t<T>>)
    return key(choice(member));
  else if constexpr (std::is_same_v<std::remove_cvref_t<T>, FormsTarget>)
    return key(std::forward<T>(member));
  else
    return key(&member);
}
template <class T>
ConfigKey bound_key(std::string path, T&& member, std::string help = {}) {
  return bound_key(std::move(path), std::forward<T>(member), ConfigRule{}, std::move(help));
}

/// Keys in the order of the file.
class KeyList {
public:
  template <class... Arguments>
  void add(std::string path, Arguments&&... arguments) {
    keys_.push_back(bound_key(std::move(path), std::forward<Arguments>(arguments)...));
  }
  /// Adds a key that is not described.
  template <class T>
  void add_hidden(std::string path, T& member, ConfigRule rule, std::string help) {
    add(std::move(path), member, std::move(rule), std::move(help));
    keys_.back().hidden = true;
  }
  /// Lets the last key also be a mapping, in which its value is the field `value`, and adds a field
  /// to it. A value sets only the fields that it gives. The key is printed as a plain value while
  /// all fields added so have their defaults.
  template <class C, class M>
  void add_field(const char* value, const char* name, C& config, M C::*member, std::string help,
                 ConfigRule rule = {}) {
    auto& key = keys_.back();
    if (!std::holds_alternative<FormsTarget>(key.target)) {
      const ConfigKey plain{{}, key.target, key.rule, {}}, field{value, key.target, key.rule, {}};
      key.target = FormsTarget{&(config.*member), {{.fields = {plain}}, {.fields = {field}}}};
    }
    auto& forms = std::get<FormsTarget>(key.target).forms;
    forms[1].fields.push_back(bound_key(name, config.*member, std::move(rule), std::move(help)));
    forms[0].fits = [before = forms[0].fits, &config, member] {
      return before() && config.*member == C{}.*member;
    };
  }
  void append(std::vector<ConfigKey> more) { std::ranges::move(more, std::back_inserter(keys_)); }

  std::vector<ConfigKey> take() { return std::move(keys_); }

private:
  std::vector<ConfigKey> keys_;
};

/// Each adds the keys of its section.
void add_data_keys(KeyList& keys, DataConfig& data);
void add_train_keys(KeyList& keys, TrainConfig& train);
void add_parallel_keys(KeyList& keys, ParallelConfig& parallel);
void add_cluster_keys(KeyList& keys, ClusterConfig& cluster);

inline ConfigRule at_least(double min) {
  return {.min = min};
}
inline ConfigRule above(double min) {
  return {.min = min, .above_min = true};
}
inline ConfigRule between(double min, double max) {
  return {.min = min, .max = max};
}
/// The upper limit only keeps products of such numbers far from overflow.
inline ConfigRule count_to(double max) {
  return between(1, max);
}
/// Decay factors such as momentum: [0, 1).
inline ConfigRule fraction() {
  return {.min = 0, .max = 1, .below_max = true};
}
/// A part that is not empty: (0, 1].
inline ConfigRule positive_share() {
  return {.min = 0, .max = 1, .above_min = true};
}
inline ConfigRule one_of(std::vector<std::string> choices) {
  return {.choices = std::move(choices)};
}
inline ConfigRule of_format(ConfigFormat format) {
  return {.format = format};
}
inline ConfigRule a_path() {
  return of_format(ConfigFormat::path);
}
inline ConfigRule size_at_least(double min) {
  return {.min = min, .format = ConfigFormat::size};
}
inline ConfigRule not_empty() {
  return {.not_empty = true};
}

/// A word that stands for one value.
template <class T>
ConfigForm word_form(std::string_view word, T& member, T value = {}) {
  return {.word = word,
          .choose = [&member, value] { member = value; },
          .fits = [&member, value] { return member == value; }};
}

/// A mapping, or a plain value if the field has no path. The fields are bound to members of
/// `member`, and have their values in `start` where they are not given. `fits` returns whether they
/// express the value of `member`; the last form does without, and fits every value.
template <class T>
ConfigForm fields_form(T& member, std::type_identity_t<T> start, std::vector<ConfigKey> fields,
                       std::function<bool(const std::type_identity_t<T>&)> fits = {}) {
  return {.fields = std::move(fields),
          .choose = [&member, start = std::move(start)] { member = start; },
          .fits = [&member, fits = std::move(fits)] { return !fits || fits(member); }};
}

/// A member whose default is written as a word, and whose other values are mappings.
template <class T>
FormsTarget word_or_mapping(std::string_view word, T& member, std::vector<ConfigKey> fields) {
  return {&member, {word_form(word, member), fields_form(member, {}, std::move(fields))}};
}

} // namespace troupe
