/// Enums whose values have words, such as those of the config file.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace troupe {

/// The words of an enum's values, in the order of its enumerators, which count from 0. Specialized
/// next to each such enum.
template <class E>
inline constexpr std::array<std::string_view, 0> choice_words = {};

/// Makes a specialization of choice_words.
template <class... Words>
consteval auto word_list(Words... words) {
  return std::array<std::string_view, sizeof...(Words)>{words...};
}

template <class E>
concept Choice = std::is_enum_v<E> && std::is_same_v<std::underlying_type_t<E>, std::uint8_t> &&
    (choice_words<E>.size() > 0);

template <Choice E>
constexpr std::string_view to_string(E value) {
  return choice_words<E>[static_cast<std::size_t>(value)];
}

/// Returns the value with a word; nullopt if no value has it.
template <Choice E>
constexpr std::optional<E> choice_named(std::string_view word) {
  const auto found = std::ranges::find(choice_words<E>, word);
  if (found == choice_words<E>.end())
    return std::nullopt;
  return static_cast<E>(found - choice_words<E>.begin());
}

} // namespace troupe
