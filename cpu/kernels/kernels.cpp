#include "kernels.hpp"

#include "../processor.hpp"

namespace troupe::cpu {

#if defined(TROUPE_X86_KERNELS)
namespace v4 {
Kernels table();
}
namespace v3 {
Kernels table();
}
#endif
namespace baseline {
Kernels table();
}

namespace {

Kernels choose() {
#if defined(TROUPE_X86_KERNELS)
  const auto features = processor();
  if (features.v4)
    return v4::table();
  if (features.v3)
    return v3::table();
#endif
  return baseline::table();
}

} // namespace

const Kernels& kernels() {
  static const Kernels chosen = choose();
  return chosen;
}

} // namespace troupe::cpu
