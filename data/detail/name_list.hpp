/// Formats lists of names for messages.
#pragma once

#include "core/escape.hpp"
#include "core/fail.hpp"

#include <algorithm>
#include <span>
#include <string>

namespace troupe::data {

/// Returns `"a", "b" and 7 more`: the first 20 names, escaped, and the number of remaining ones.
inline std::string quoted_list(std::span<const std::string> names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (const auto& name : names.first(std::min(names.size(), most)))
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", echoed(name, 60));
  return names.size() > most ? fmt::format("{} and {} more", text, names.size() - most) : text;
}

} // namespace troupe::data
