#include "core/fail.hpp"
#include "gpu/lowering/lowering.hpp"

namespace troupe::gpu {

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch-enum"
Result<StepPtr> lower(Lowering& lowering, const Node& node) {
  switch (node.op) {
#define TROUPE_OP(name)                                                                            \
  case Op::name:                                                                                   \
    return lower_##name(lowering, node);
#include "core/graph/ops.def"
#undef TROUPE_OP
  }
  return fail(Errc::internal, "the CUDA device does not support op {}", static_cast<int>(node.op));
}
#pragma GCC diagnostic pop

} // namespace troupe::gpu
