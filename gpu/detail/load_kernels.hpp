/// Loading kernels before a stream waits for the host.
///
/// CUDA loads a kernel when it is launched for the first time, and may let the whole device run
/// empty for that, while calls of other threads stand still (CUDA programming guide, "Lazy
/// loading"). Where a stream waits for the host (wait_flags.hpp), that is a deadlock: the thread
/// that would let it go on may be the one that launches, or stand still itself. So all kernels that
/// will be launched are launched once before, also those of libraries (CudaExecutable), since
/// CUDA_MODULE_LOADING=EAGER would load all that cuDNN and cuBLASLt have.
#pragma once

#include "gpu/cuda_device.hpp"

namespace troupe::gpu {

/// Loads the kernels over flat memory: what Device offers, and sums over ranks. Errors: those of
/// the driver.
Status load_flat_kernels(CudaDevice& device);

} // namespace troupe::gpu
