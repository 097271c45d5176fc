/// What NCCL loads and connects when a call first needs it.
#pragma once

#include "operation.hpp"

namespace emulation::nccl {

/// Stands for the kernel of an operation: one a kind where nothing is added up, else one a type
/// too.
const void* kernel_of(const Operation& operation);

} // namespace emulation::nccl
