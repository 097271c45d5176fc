#include "collectives/nccl/library.hpp"

#include "core/fail.hpp"
#include "gpu/libraries.hpp"

namespace troupe::collectives {

Status NcclLibrary::check(ncclResult_t result, std::string_view operation) const {
  // A non-blocking call in progress is not an error; see NcclConnection::settle().
  if (result == ncclSuccess || result == ncclInProgress)
    return {};
  return fail(Errc::collective, "NCCL's {} failed: {} ({})", operation, error_string(result),
              last_error(nullptr));
}

Result<NcclLibrary> open_nccl() {
  const auto places = gpu::library_places_of_process();
  TROUPE_TRY(const auto library, gpu::SharedLibrary::open("libnccl.so.2", places));
  NcclLibrary table;
  table.file = library.file();
  gpu::LibraryFunctions fill{library};
  fill("ncclGetVersion", table.version);
  fill("ncclGetUniqueId", table.unique_id);
  fill("ncclGetErrorString", table.error_string);
  fill("ncclGetLastError", table.last_error);
  fill("ncclCommInitRankConfig", table.init_rank);
  fill("ncclCommGetAsyncError", table.async_error);
  fill("ncclCommRegister", table.register_buffer);
  fill("ncclCommDeregister", table.deregister_buffer);
  fill("ncclCommFinalize", table.finalize);
  fill("ncclCommDestroy", table.destroy);
  fill("ncclCommAbort", table.abort);
  fill("ncclGroupStart", table.group_start);
  fill("ncclGroupEnd", table.group_end);
  fill("ncclAllReduce", table.all_reduce);
  fill("ncclReduceScatter", table.reduce_scatter);
  fill("ncclAllGather", table.all_gather);
  fill("ncclBroadcast", table.broadcast);
  fill("ncclReduce", table.reduce);
  fill("ncclSend", table.send);
  fill("ncclRecv", table.receive);
  TROUPE_TRY(fill.done());
  return table;
}

ncclDataType_t nccl_type(DType type) {
  switch (type) {
  case DType::f32:
    return ncclFloat32;
  case DType::bf16:
    return ncclBfloat16;
  case DType::f16:
    return ncclFloat16;
  case DType::i32:
    return ncclInt32;
  case DType::u8:
    return ncclUint8;
  case DType::f64:
    return ncclFloat64;
  }
  return ncclFloat32;
}

} // namespace troupe::collectives
