// One instruction set's table.
#include "variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

#define TROUPE_TEXT_(name) #name
#define TROUPE_TEXT(name) TROUPE_TEXT_(name)

const Kernels& table() {
  static constexpr Kernels kernels = {
      .name = TROUPE_TEXT(TROUPE_VARIANT),
      .add = add,
      .scale = scale,
      .squared_norm = squared_norm,
      .optimizer_step = optimizer_step,
  };
  return kernels;
}

} // namespace troupe::cpu::TROUPE_VARIANT
