// Emulates libnccl as collectives/nccl/library.hpp requests it: non-blocking communicators of ranks
// that are all on this machine.
#include "tests/emulation/nccl/communicator.hpp"
#include "tests/emulation/nccl/distant_group.hpp"
#include "tests/emulation/nccl/last_error.hpp"
#include "tests/emulation/nccl/reception.hpp"
#include "tests/emulation/nccl/siblings.hpp"
#include "tests/emulation/runtime/memory.hpp"
#include "tests/emulation/runtime/settings.hpp"
#include "tests/emulation/runtime/stream.hpp"

#include <cstring>

using namespace emulation;
using namespace emulation::nccl;

struct ncclComm {
  std::shared_ptr<Communicator> shared; ///< shared with enqueued work
  GroupKey group;
  bool finalized = false;
};

namespace {

/// The contents of an id: the process that created it, and the group's number there.
struct Id {
  std::uint64_t place, number;
};

Id id_of(const ncclUniqueId& bytes) {
  Id id;
  std::memcpy(&id, bytes.internal, sizeof id);
  return id;
}

std::shared_ptr<Group> group_at(const Id& id, int size) {
  if (id.place == listener())
    return group_of(id.number, size);
  return std::make_shared<DistantGroup>(id.place, id.number, size);
}

/// The calls between ncclGroupStart and ncclGroupEnd.
struct OpenGroup {
  int depth = 0;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Call> calls;
};
thread_local OpenGroup open_group;

/// Starts a non-blocking call, which is complete at once or after some queries of its state.
ncclResult_t begin(Communicator& communicator) {
  communicator.looks_left = 1 + static_cast<int>(chance(3));
  return ncclInProgress;
}

ncclResult_t run(ncclComm_t communicator, cudaStream_t stream, std::vector<Call> calls) {
  const auto shared = communicator->shared; // another thread may abort the communicator meanwhile
  for (const auto& call : calls)
    shared->prepare(call);
  ++shared->running;
  const auto code = enqueue(stream, [shared, calls = std::move(calls)] {
    shared->run(calls);
    --shared->running;
  });
  if (code != cudaSuccess)
    return refuse(ncclUnhandledCudaError, cudaGetErrorString(code));
  return begin(*shared);
}

bool reaches(const void* address, std::size_t bytes, int device) {
  const auto found = Memory::instance().find(address);
  return found && found->device == device && Memory::instance().covers(address, bytes);
}

/// `sent` and `received` are numbers of elements.
ncclResult_t call(ncclComm_t communicator, cudaStream_t stream, Call call, std::size_t sent,
                  std::size_t received) {
  const auto& shared = communicator->shared;
  const auto* const of = stream_of(stream);
  const auto& operation = call.operation;
  if (communicator->finalized || shared->aborted || shared->looks_left > 0)
    return refuse(ncclInvalidUsage, "the communicator is busy, or gone");
  if (!of || of->device != shared->device())
    return refuse(ncclInvalidArgument, "a stream of another device");
  const auto bytes = size_of(operation.type);
  if (operation.peer < 0 || operation.peer >= shared->size() ||
      (call.from && !reaches(call.from, sent * bytes, shared->device())) ||
      (call.to && !reaches(call.to, received * bytes, shared->device())))
    return refuse(ncclInvalidArgument, "a rank, or memory, that is not there");
  if (!siblings_reach(communicator->group, call.from) ||
      !siblings_reach(communicator->group, call.to)) {
    fail_forever(cudaErrorIllegalAddress, "NCCL reads memory of a pool that is not open to a peer");
    return refuse(ncclUnhandledCudaError, "an illegal memory access was encountered");
  }
  call.sent = sent * bytes;
  if (open_group.depth == 0)
    return run(communicator, stream, {call});
  open_group.communicator = communicator;
  open_group.stream = stream;
  open_group.calls.push_back(call);
  return ncclSuccess;
}

} // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<std::uint64_t> made = 0;
  const Id words{listener(), ++made};
  *id = {};
  std::memcpy(id->internal, &words, sizeof words);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
  case ncclSuccess:
    return "no error";
  case ncclInvalidArgument:
    return "invalid argument";
  case ncclInvalidUsage:
    return "invalid usage";
  case ncclInProgress:
    return "NCCL operation in progress";
  case ncclSystemError:
    return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
  case ncclRemoteError:
    return "remote process exited or there was a network error";
  default:
    return "unhandled cuda error";
  }
}

const char* ncclGetLastError(ncclComm_t) {
  return last_error;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->magic != 0xcafebeef || config->blocking != 0 || rank < 0 || rank >= size)
    return refuse(ncclInvalidArgument, "a configuration that is not emulated");
  const auto parts = id_of(id);
  auto shared = std::make_shared<Communicator>(group_at(parts, size), size, current_device());
  add_sibling({parts.place, parts.number}, current_device());
  shared->join(rank);
  *communicator = new ncclComm{shared, {parts.place, parts.number}};
  return begin(*shared);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  auto& shared = *communicator->shared;
  const bool waits = communicator->finalized ? shared.running > 0 : !shared.is_complete();
  if (shared.failure() != ncclSuccess)
    *state = shared.failure();
  else if (shared.looks_left > 0 && --shared.looks_left >= 0)
    *state = ncclInProgress;
  else
    *state = waits ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(ncclComm_t communicator, void* buffer, std::size_t bytes,
                              void** handle) {
  if (!reaches(buffer, bytes, communicator->shared->device()))
    return refuse(ncclInvalidArgument, "registered memory that is not the device's");
  *handle = buffer;
  return begin(*communicator->shared);
}

ncclResult_t ncclCommDeregister(ncclComm_t communicator, void* handle) {
  return reaches(handle, 1, communicator->shared->device())
             ? ncclSuccess
             : refuse(ncclInvalidArgument, "what was registered is gone");
}

ncclResult_t ncclCommFinalize(ncclComm_t communicator) {
  if (communicator->finalized || communicator->shared->aborted)
    return refuse(ncclInvalidUsage, "finalized before");
  communicator->finalized = true;
  return begin(*communicator->shared);
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  if (!communicator->finalized || communicator->shared->running > 0)
    return refuse(ncclInvalidUsage, "destroyed before it was finalized");
  communicator->shared->leave();
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->shared->abort();
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++open_group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (--open_group.depth > 0 || open_group.calls.empty())
    return ncclSuccess;
  return run(open_group.communicator, open_group.stream, std::exchange(open_group.calls, {}));
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, {{Kind::all_reduce, count, type}, from, to}, count, count);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t communicator, cudaStream_t stream) {
  const auto all = count * static_cast<std::size_t>(communicator->shared->size());
  return call(communicator, stream, {{Kind::reduce_scatter, count, type}, from, to}, all, count);
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  const auto all = count * static_cast<std::size_t>(communicator->shared->size());
  return call(communicator, stream, {{Kind::all_gather, count, type}, from, to}, count, all);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, {{Kind::broadcast, count, type, root}, from, to}, count, count);
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t, int root, ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, {{Kind::reduce, count, type, root}, from, to}, count, count);
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, {{Kind::send, count, type, peer}, from, nullptr}, count, 0);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, {{Kind::receive, count, type, peer}, nullptr, to}, 0, count);
}
}
