// One instruction set's table.
#include "cpu/kernels/detail/variant.hpp"

namespace troupe::cpu::TROUPE_VARIANT {

#define TROUPE_TEXT_(name) #name
#define TROUPE_TEXT(name) TROUPE_TEXT_(name)

Kernels table() {
  Kernels kernels{};
  kernels.name = TROUPE_TEXT(TROUPE_VARIANT);
#define TROUPE_SET(source) set_##source(kernels);
  TROUPE_KERNEL_SOURCES(TROUPE_SET)
#undef TROUPE_SET
  return kernels;
}

} // namespace troupe::cpu::TROUPE_VARIANT
