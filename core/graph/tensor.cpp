#include "core/graph/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace troupe {

namespace {

struct DTypeTraits {
  std::string_view name;
  std::size_t bytes;
};
constexpr std::array<DTypeTraits, 6> dtype_traits = {
    {{"f32", 4}, {"bf16", 2}, {"f16", 2}, {"i32", 4}, {"u8", 1}, {"f64", 8}}};
static_assert(dtype_traits.size() == static_cast<std::size_t>(DType::f64) + 1);

} // namespace

std::size_t size_of(DType dtype) {
  return dtype_traits[static_cast<std::size_t>(dtype)].bytes;
}

std::string_view to_string(DType dtype) {
  return dtype_traits[static_cast<std::size_t>(dtype)].name;
}

std::string Shape::to_string() const {
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

} // namespace troupe
