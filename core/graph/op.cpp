#include "core/graph/op.hpp"

#include <array>

namespace troupe {

std::string_view to_string(Op op) {
  static constexpr std::array<std::string_view, op_count> names = {
#define TROUPE_OP(name) #name,
#include "core/graph/ops.def"
#undef TROUPE_OP
  };
  return names[static_cast<std::size_t>(op)];
}

} // namespace troupe
