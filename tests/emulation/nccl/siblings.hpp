/// The ranks of a group in this process. When GPUs can access each other's memory, NCCL's kernels
/// read and write each other's buffers directly (P2P_DIRECT), unless NCCL_P2P_DIRECT_DISABLE is 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace emulation::nccl {

/// A group, by the contents of its id.
using GroupKey = std::pair<std::uint64_t, std::uint64_t>;

/// Records that a rank of this process is on this device.
void add_sibling(const GroupKey& group, int device);
/// Whether all ranks of this process can access this buffer of one of them.
bool siblings_reach(const GroupKey& group, const void* buffer);

} // namespace emulation::nccl
