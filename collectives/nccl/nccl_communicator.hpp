/// Ranks on GPUs of their own, in one process or several, by NCCL.
///
/// A call enqueues a wait on the rank's stream and is made by the thread that owns the GPU
/// (NcclOwner), which has NCCL work on a stream of its own: a non-blocking call of NCCL may still
/// be enqueueing when it returns, and nothing else may be put behind it until it is done, so it
/// must be neither the handler nor the rank's stream that waits. The rank's stream goes on when the
/// result is there, or the call has failed.
#pragma once

#include "collectives/nccl/detail/connection.hpp"

namespace troupe::collectives {

/// Errors: collective.
Result<NcclId> make_nccl_id(const NcclLibrary& library);

/// Blocks until all ranks are connected: call it from a thread that may, and for all ranks of a
/// process at once. The communicator takes streams of the owner's GPU. A group has at most one rank
/// on a GPU (make_shared_cuda_group() is for more). Sums are in NCCL's order; narrow types may be
/// rounded between additions. Errors: collective.
Result<std::unique_ptr<Communicator>> connect_nccl(const std::shared_ptr<NcclOwner>& owner,
                                                   const NcclOptions& options);

} // namespace troupe::collectives
