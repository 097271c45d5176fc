/// NVIDIA's NCCL, opened at run time: one program starts on machines with and without it.
#pragma once

#include "core/error.hpp"
#include "core/graph/tensor.hpp"

#include <nccl.h>

#include <string>
#include <string_view>

namespace troupe::collectives {

/// A plain table of functions; copyable.
struct NcclLibrary {
  decltype(&::ncclGetVersion) version = nullptr;
  decltype(&::ncclGetUniqueId) unique_id = nullptr;
  decltype(&::ncclGetErrorString) error_string = nullptr;
  decltype(&::ncclGetLastError) last_error = nullptr;
  decltype(&::ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&::ncclCommGetAsyncError) async_error = nullptr;
  decltype(&::ncclCommRegister) register_buffer = nullptr;
  decltype(&::ncclCommDeregister) deregister_buffer = nullptr;
  decltype(&::ncclCommFinalize) finalize = nullptr;
  decltype(&::ncclCommDestroy) destroy = nullptr;
  decltype(&::ncclCommAbort) abort = nullptr;
  decltype(&::ncclGroupStart) group_start = nullptr;
  decltype(&::ncclGroupEnd) group_end = nullptr;
  decltype(&::ncclAllReduce) all_reduce = nullptr;
  decltype(&::ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&::ncclAllGather) all_gather = nullptr;
  decltype(&::ncclBroadcast) broadcast = nullptr;
  decltype(&::ncclReduce) reduce = nullptr;
  decltype(&::ncclSend) send = nullptr;
  decltype(&::ncclRecv) receive = nullptr;
  std::string file;

  /// Errors: collective, with the operation and NCCL's message.
  Status check(ncclResult_t result, std::string_view operation) const;
};

/// Opens libnccl.so.2 in the directories of the other CUDA libraries. Errors: unsupported.
Result<NcclLibrary> open_nccl();

ncclDataType_t nccl_type(DType type);

} // namespace troupe::collectives
