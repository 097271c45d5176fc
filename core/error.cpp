#include "core/error.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace troupe {

namespace {

constexpr std::array<std::string_view, 14> names = {
    "",        "invalid input", "data",          "i/o",         "no space left",
    "corrupt", "device",        "out of memory", "unsupported", "collective",
    "numeric", "network",       "stopped",       "internal"};
static_assert(names.size() == static_cast<std::size_t>(Errc::internal) + 1);

} // namespace

std::string_view to_string(Errc code) {
  return names[static_cast<std::size_t>(code)];
}

std::string Error::to_string() const {
  std::vector<std::string> parts;
  if (!where.node.empty())
    parts.push_back(fmt::format("node {}", where.node));
  if (where.rank >= 0)
    parts.push_back(fmt::format("rank {}", where.rank));
  if (where.step >= 0)
    parts.push_back(fmt::format("step {}", where.step + 1));
  if (!where.actor.empty())
    parts.push_back(fmt::format("actor {}", where.actor));
  const auto place = parts.empty() ? std::string{} : fmt::format(" ({})", fmt::join(parts, ", "));
  return fmt::format("{}: {}{}", troupe::to_string(code), message, place);
}

int Error::exit_code() const {
  const bool is_permanent =
      code == Errc::invalid_input || code == Errc::data || code == Errc::unsupported;
  return is_permanent && whose == Whose::here ? 2 : 1;
}

} // namespace troupe
