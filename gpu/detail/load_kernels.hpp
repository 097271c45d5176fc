/// Loading kernels before a stream waits for the host.
///
/// CUDA loads a kernel when it is launched for the first time, and may let the whole device run
/// empty for that, while calls of other threads stand still (CUDA programming guide, "Lazy
/// loading"). Where a stream waits for the host (wait_flags.hpp), that is a deadlock: who would let
/// it go on may be the thread that launches, or stand still itself. So what will be launched is
/// launched once before; the libraries' kernels with it (CudaExecutable), since
/// CUDA_MODULE_LOADING=EAGER would load all that cuDNN and cuBLASLt have.
#pragma once

#include "../cuda_device.hpp"

namespace troupe::gpu {

/// Those over flat memory: what Device offers, and sums over ranks. Errors: those of the driver.
Status load_flat_kernels(CudaDevice& device);

} // namespace troupe::gpu
