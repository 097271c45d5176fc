#include "core/graph/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe {

std::size_t size_of(DType dtype) {
  switch (dtype) {
  case DType::f32:
  case DType::i32:
    return 4;
  case DType::bf16:
  case DType::f16:
    return 2;
  case DType::u8:
    return 1;
  case DType::f64:
    return 8;
  }
  return 0;
}

std::string_view to_string(DType dtype) {
  switch (dtype) {
  case DType::f32:
    return "f32";
  case DType::bf16:
    return "bf16";
  case DType::f16:
    return "f16";
  case DType::i32:
    return "i32";
  case DType::u8:
    return "u8";
  case DType::f64:
    return "f64";
  }
  return "?";
}

std::string Shape::to_string() const {
  return dims.empty() ? "scalar" : fmt::format("{}", fmt::join(dims, "x"));
}

} // namespace troupe
