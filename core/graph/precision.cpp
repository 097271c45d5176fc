#include "core/graph/precision.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

std::string_view word(DType dtype) {
  return choice_words<DType>[static_cast<std::size_t>(dtype)];
}

} // namespace

std::string describe(Precision precision, DType arithmetic) {
  if (precision == Precision::tf32)
    return "tf32 arithmetic, fp32 activations";
  return fmt::format(
      "{} arithmetic, {} activations{}", word(arithmetic), word(compute_type(precision)),
      stored_type(precision) == DType::f32 ? "" : ", parameters and optimizer state");
}

} // namespace troupe
