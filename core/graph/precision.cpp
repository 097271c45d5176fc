#include "core/graph/precision.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace troupe {

namespace {

constexpr std::array<std::string_view, 6> modes = {"fp32", "tf32",     "fp16",
                                                   "bf16", "amp_fp16", "amp_bf16"};
static_assert(modes.size() == static_cast<std::size_t>(Precision::amp_bf16) + 1);

/// The config's word for a type of activations.
std::string_view word(DType dtype) {
  switch (dtype) {
  case DType::f16:
    return "fp16";
  case DType::bf16:
    return "bf16";
  default:
    return "fp32";
  }
}

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

std::string describe(Precision precision, DType arithmetic) {
  if (precision == Precision::tf32)
    return "tf32 arithmetic, fp32 activations";
  return fmt::format(
      "{} arithmetic, {} activations{}", word(arithmetic), word(compute_type(precision)),
      stored_type(precision) == DType::f32 ? "" : ", parameters and optimizer state");
}

DType float_type_of(std::string_view name) {
  return name == "fp16" ? DType::f16 : name == "bf16" ? DType::bf16 : DType::f32;
}

} // namespace troupe
