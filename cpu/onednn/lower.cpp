#include "core/fail.hpp"
#include "cpu/onednn/lowering.hpp"

namespace troupe::cpu {

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch-enum"
Result<StepPtr> lower(Lowering& lowering, const Node& node) try {
  switch (node.op) {
#define TROUPE_OP(name)                                                                            \
  case Op::name:                                                                                   \
    return lower_##name(lowering, node);
#include "core/graph/ops.def"
#undef TROUPE_OP
  }
  return fail(Errc::internal, "the oneDNN engine does not support op {}",
              static_cast<int>(node.op));
} catch (const dnnl::error& error) {
  return fail(Errc::device, "oneDNN cannot lower {}: {}", to_string(node.op), error.what());
}
#pragma GCC diagnostic pop

} // namespace troupe::cpu
