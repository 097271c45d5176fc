/// NCCL between ranks that each have a GPU, in one process or several.
///
/// A call enqueues a wait on the rank's stream. The thread that owns the GPU (NcclOwner) makes the
/// NCCL call, on a stream of the connection. A non-blocking NCCL call may still be enqueueing when
/// it returns, and nothing else may be enqueued after it until it is done. Neither the handler nor
/// the rank's stream may wait for that, so the owner thread does. The rank's stream resumes when
/// the result is ready or the call has failed. After a failure the owner thread aborts the
/// communicator; if the driver blocks it for a second, another thread does.
#pragma once

#include "collectives/communicator.hpp"
#include "collectives/nccl/detail/connection.hpp"

namespace troupe::collectives {

/// Errors: collective.
Result<NcclId> make_nccl_id(const NcclLibrary& library);

/// Blocks until all ranks are connected: call it from a thread that may block, concurrently for all
/// ranks of a process. The communicator takes streams of the owner's GPU. A group has at most one
/// rank per GPU (use make_shared_cuda_group() for more). Sums are in NCCL's order; f16 and bf16 may
/// be rounded between additions. Errors: collective.
Result<std::unique_ptr<Communicator>> connect_nccl(const std::shared_ptr<NcclOwner>& owner,
                                                   const NcclOptions& options);

} // namespace troupe::collectives
