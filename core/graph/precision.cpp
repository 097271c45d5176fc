#include "core/graph/precision.hpp"

#include <fmt/format.h>

namespace troupe {

std::string describe(Precision precision, DType arithmetic) {
  if (precision == Precision::tf32)
    return "tf32 arithmetic, fp32 activations";
  const auto word = to_string<DType>; // of the config
  return fmt::format(
      "{} arithmetic, {} activations{}", word(arithmetic), word(compute_type(precision)),
      stored_type(precision) == DType::f32 ? "" : ", parameters and optimizer state");
}

} // namespace troupe
