/// Text helpers for pages and lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::testing {

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

} // namespace troupe::testing
