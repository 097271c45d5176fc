#include "core/launch/detail/variables.hpp"

#include "core/escape.hpp"
#include "core/fail.hpp"
#include "core/whole_number.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace troupe {

Status Variables::require(std::initializer_list<std::string> names) const {
  std::vector<std::string> missing;
  std::ranges::copy_if(names, std::back_inserter(missing),
                       [this](const auto& name) { return !has(name); });
  if (missing.empty())
    return {};
  return wrong(
      fmt::format("{} {} not set", fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are"));
}

Result<std::int64_t> Variables::number(const std::string& name, const Bounds& bounds) const {
  const auto value = read_whole_number<std::int64_t>(text(name));
  if (value && *value >= bounds.least && *value <= bounds.most)
    return *value;
  return wrong(fmt::format("{} is \"{}\"; allowed: a whole number from {} to {}{}", name,
                           echoed(text(name), 60), bounds.least, bounds.most,
                           bounds.why.empty() ? "" : fmt::format(" ({})", bounds.why)));
}

Result<std::int64_t> Variables::number_or(const std::string& name, std::int64_t otherwise,
                                          const Bounds& bounds) const {
  return has(name) ? number(name, bounds) : Result<std::int64_t>{otherwise};
}

tl::unexpected<Error> Variables::wrong(const std::string& what) const {
  return fail(Errc::invalid_input, "--launcher {}: {}", launcher_, what);
}

} // namespace troupe
