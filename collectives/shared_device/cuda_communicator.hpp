/// Several ranks on one GPU (which NCCL refuses), or on GPUs of one process that reach each other's
/// memory: each reads the others' buffers and sums its own slice with kernels, as ranks of the host
/// do.
///
/// A call enqueues a wait on the rank's stream and hands the rest to a thread of the rank. The
/// thread waits until the stream has come that far, meets the other ranks, has the copies and sums
/// run on a stream of its own, and lets the rank's stream go on when all ranks are done. That costs
/// a trip to the host for a call, some 100 us; it needs no order of enqueueing between ranks. It
/// cannot deadlock as long as no stream shares a hardware queue with one that waits (WaitFlags):
/// the rank's own stream then comes to the call by itself, and waiting for other ranks ends with
/// the timeout. The queues are 8, or what CUDA_DEVICE_MAX_CONNECTIONS says (32 at most): count 4
/// streams for a rank on the device, compute, communication, the loader's and this
/// (twice where batch norm is synchronized).
#pragma once

#include "collectives/communicator.hpp"
#include "gpu/cuda_device.hpp"

#include <chrono>
#include <memory>
#include <span>
#include <vector>

namespace troupe::collectives {

/// The communicators of a new group, by rank; devices[r] is rank r's, and may be another's too.
/// They take streams of these devices, and memory of them. Rules about leaving and the timeout are
/// those of make_shared_group(). Errors: unsupported, for more than 16 ranks or for GPUs that
/// cannot reach each other's memory.
Result<std::vector<std::unique_ptr<Communicator>>>
make_shared_cuda_group(std::span<const std::shared_ptr<gpu::CudaDevice>> devices,
                       std::chrono::milliseconds timeout);

} // namespace troupe::collectives
