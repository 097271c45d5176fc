/// Kernels that NCCL loads when a call first needs them.
#pragma once

#include "tests/emulation/nccl/operation.hpp"

namespace emulation::nccl {

/// Stands for the kernel of an operation. Each kind has one; kinds that sum have one for each type.
const void* kernel_of(const Operation& operation);

} // namespace emulation::nccl
