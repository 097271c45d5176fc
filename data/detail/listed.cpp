#include "listed.hpp"

#include "troupe/core/printable.hpp"

#include <fmt/format.h>

namespace troupe::data {

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", echoed(names[i], 60));
  if (names.size() > most)
    text += fmt::format(" and {} more", names.size() - most);
  return text;
}

} // namespace troupe::data
