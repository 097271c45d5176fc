#include "tests/emulation/nccl/kernels.hpp"

#include <array>

namespace emulation::nccl {

const void* kernel_of(const Operation& operation) {
  constexpr std::size_t kinds = 7, types = ncclNumTypes;
  static std::array<std::array<char, types>, kinds> kernels;
  const bool adds = operation.kind == Kind::all_reduce || operation.kind == Kind::reduce_scatter ||
                    operation.kind == Kind::reduce;
  // Sending and receiving use one kernel.
  const auto kind = operation.kind == Kind::receive ? Kind::send : operation.kind;
  const auto type = adds ? static_cast<std::size_t>(operation.type) : std::size_t{0};
  return &kernels[static_cast<std::size_t>(kind)][type];
}

} // namespace emulation::nccl
