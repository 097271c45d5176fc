/// Several ranks on one GPU (which NCCL refuses), or on GPUs of one process that can access each
/// other's memory. Each rank reads the others' buffers and sums its block with kernels, like ranks
/// on the host.
///
/// A call enqueues a wait on the rank's stream and hands the rest to a thread of the rank. The
/// thread waits until the stream has reached the call, synchronizes with the other ranks, and runs
/// copies and sums on a stream of its own. The rank's stream resumes when all ranks are done. A
/// call costs a round trip to the host, about 100 us, but ranks need no common enqueueing order.
/// Calls cannot deadlock as long as no stream shares a hardware queue with a waiting stream
/// (WaitFlags): the rank's stream then reaches the call by itself, and the wait for other ranks
/// ends with the timeout. There are 8 queues, or CUDA_DEVICE_MAX_CONNECTIONS (32 at most). Count 4
/// streams for each rank on the device: compute, communication, the loader's, and this one (this
/// one twice with synchronized batch norm).
#pragma once

#include "collectives/communicator.hpp"
#include "gpu/cuda_device.hpp"

#include <chrono>
#include <memory>
#include <span>
#include <vector>

namespace troupe::collectives {

/// Returns the communicators of a new group, by rank. devices[r] is the device of rank r; ranks may
/// share one. The communicators take streams and memory of these devices. The rules for leaving and
/// for the timeout are those of make_shared_group(). Errors: unsupported, for more than 16 ranks or
/// for GPUs that cannot access each other's memory.
Result<std::vector<std::unique_ptr<Communicator>>>
make_shared_cuda_group(std::span<const std::shared_ptr<gpu::CudaDevice>> devices,
                       std::chrono::milliseconds timeout);

} // namespace troupe::collectives
