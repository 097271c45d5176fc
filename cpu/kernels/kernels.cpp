#include "kernels.hpp"

#include "../processor.hpp"

namespace troupe::cpu {

#if defined(TROUPE_X86_KERNELS)
namespace v4_bf16 {
const Kernels& table();
}
namespace v4 {
const Kernels& table();
}
namespace v3 {
const Kernels& table();
}
#endif
namespace baseline {
const Kernels& table();
}

namespace {

const Kernels& choose() {
#if defined(TROUPE_X86_KERNELS)
  const auto features = processor();
  if (features.avx512_bf16)
    return v4_bf16::table();
  if (features.v4)
    return v4::table();
  if (features.v3)
    return v3::table();
#endif
  return baseline::table();
}

} // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

} // namespace troupe::cpu
