/// Loads kernels before a stream waits for the host.
///
/// CUDA loads a kernel at its first launch. It may let the whole device become idle for that, and
/// block calls of other threads meanwhile (CUDA programming guide, "Lazy loading"). If a stream
/// waits for the host (wait_flags.hpp), that is a deadlock: the thread that would end the wait may
/// be the one that launches, or may be blocked itself. So every kernel is launched once in advance,
/// including those of libraries (CudaExecutable). CUDA_MODULE_LOADING=EAGER is not an alternative:
/// it would load all kernels of cuDNN and cuBLASLt.
#pragma once

#include "gpu/cuda_device.hpp"

namespace troupe::gpu {

/// Loads the kernels over flat memory: those of Device's functions, and sums over ranks. Errors:
/// those of the driver.
Status load_flat_kernels(CudaDevice& device);

} // namespace troupe::gpu
