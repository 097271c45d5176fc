/// Kernels that NCCL loads when a call first needs them.
#pragma once

#include "tests/emulation/nccl/operation.hpp"

namespace emulation::nccl {

/// Returns an address that stands for the kernel of an operation. Each kind has one kernel; kinds
/// that sum have one per type.
const void* kernel_of(const Operation& operation);

} // namespace emulation::nccl
