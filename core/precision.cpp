#include "precision.hpp"

#include <algorithm>
#include <array>

namespace troupe {

namespace {

constexpr std::array<std::string_view, 6> modes = {"fp32", "tf32",     "fp16",
                                                   "bf16", "amp_fp16", "amp_bf16"};
static_assert(modes.size() == static_cast<std::size_t>(Precision::amp_bf16) + 1);

} // namespace

std::string_view to_string(Precision precision) {
  return modes[static_cast<std::size_t>(precision)];
}

std::optional<Precision> precision_of(std::string_view mode) {
  const auto found = std::ranges::find(modes, mode);
  if (found == modes.end())
    return std::nullopt;
  return static_cast<Precision>(found - modes.begin());
}

} // namespace troupe
