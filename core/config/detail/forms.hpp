/// Makers of the forms of values that can be written in several ways.
#pragma once

#include "core/config/schema.hpp"

#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

/// A word that stands for one value.
template <class T>
ConfigForm word_form(std::string_view word, T& member, T value = {}) {
  return {.word = word,
          .choose = [&member, value] { member = value; },
          .fits = [&member, value] { return member == value; }};
}

/// A mapping, or a plain value if the field has no path. The fields are bound to members of
/// `member`, and have their values in `start` where they are not given. `fits` returns whether they
/// express the value of `member`.
template <class T, class Fits>
ConfigForm fields_form(T& member, T start, std::vector<ConfigKey> fields, Fits fits) {
  return {.fields = std::move(fields),
          .choose = [&member, start] { member = start; },
          .fits = [&member, fits] { return fits(member); }};
}

/// As above, for the last form, which fits every value.
template <class T>
ConfigForm fields_form(T& member, T start, std::vector<ConfigKey> fields) {
  return fields_form(member, std::move(start), std::move(fields), [](const T&) { return true; });
}

} // namespace troupe
