#include "cpu/kernels/kernels.hpp"

#include "cpu/processor.hpp"

namespace troupe::cpu {

#if defined(TROUPE_X86_KERNELS)
namespace v4_amx {
void set_attention_amx(Kernels& kernels);
void set_logits_amx(Kernels& kernels);
void set_weight_gradient_amx(Kernels& kernels);
} // namespace v4_amx
namespace v4_bf16 {
void set_winograd_bf16(Kernels& kernels);
}
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

std::vector<Kernels> usable_kernels() {
  std::vector<Kernels> usable;
#if defined(TROUPE_X86_KERNELS)
  const auto features = processor();
  if (features.avx512_bf16) {
    auto table = v4::table();
    table.name = "v4_bf16";
    v4_bf16::set_winograd_bf16(table);
    usable.push_back(table);
  }
  if (features.amx_bf16) {
    auto table = usable.front();
    table.name = "v4_amx";
    v4_amx::set_attention_amx(table);
    v4_amx::set_logits_amx(table);
    v4_amx::set_weight_gradient_amx(table);
    usable.insert(usable.begin(), table);
  }
  if (features.v4)
    usable.push_back(v4::table());
  if (features.v3)
    usable.push_back(v3::table());
#endif
  usable.push_back(baseline::table());
  return usable;
}

const Kernels& kernels() {
  static const Kernels chosen = usable_kernels().front();
  return chosen;
}

} // namespace troupe::cpu
