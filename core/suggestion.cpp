#include "core/suggestion.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace troupe {

namespace {

bool same_letter(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

} // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Three rows of the table suffice: a swap refers back two rows.
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = previous[j - 1] + (same_letter(a[i - 1], b[j - 1]) ? 0 : 1);
      current[j] = std::min({previous[j] + 1, current[j - 1] + 1, replace});
      if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]))
        current[j] = std::min(current[j], before[j - 2] + 1);
    }
    std::swap(before, previous);
    std::swap(previous, current);
  }
  return previous[b.size()];
}

std::string suggest(std::string_view name, std::span<const std::string> known) {
  // At most a third of the letters may be wrong.
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::string found;
  for (const auto& candidate : known) {
    const auto distance = edit_distance(name, candidate);
    // A name of one or two letters is close to every short one: requires a common letter.
    if (distance < best && distance < std::max(name.size(), candidate.size())) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

} // namespace troupe
