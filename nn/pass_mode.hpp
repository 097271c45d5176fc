/// Mode of a graph or of a pass over a micro-batch.
#pragma once

#include <cstdint>

namespace troupe::nn {

enum class PassMode : std::uint8_t {
  training,  ///< forward and backward; batch norm uses the batch's statistics
  evaluation ///< only forward; batch norm uses the running statistics
};

template <class Inspector>
bool inspect(Inspector& f, PassMode& x) {
  auto get = [&x] { return static_cast<std::uint8_t>(x); };
  auto set = [&x](std::uint8_t value) {
    x = static_cast<PassMode>(value);
    return value <= 1;
  };
  return f.apply(get, set);
}

} // namespace troupe::nn
