// libnccl, as collectives/nccl/library.hpp asks for it: non-blocking communicators of ranks that
// are all in this process.
#include "group.hpp"

#include "runtime/memory.hpp"
#include "runtime/settings.hpp"
#include "runtime/stream.hpp"

#include <array>
#include <cstring>
#include <string>

using namespace emulation;
using namespace emulation::nccl;

struct ncclComm {
  std::shared_ptr<Communicator> shared; ///< with what is enqueued
  bool finalized = false;
};

namespace {

using Id = std::array<char, NCCL_UNIQUE_ID_BYTES>;

/// Groups whose ranks may still come.
std::shared_ptr<Group> group_of(const ncclUniqueId& id, int size) {
  static std::mutex mutex;
  static auto* const groups = new std::map<Id, std::weak_ptr<Group>>;
  Id key;
  std::copy(std::begin(id.internal), std::end(id.internal), key.begin());
  const std::lock_guard lock{mutex};
  auto group = (*groups)[key].lock();
  if (!group)
    (*groups)[key] = group = std::make_shared<Group>(size);
  return group;
}

std::string& reason() {
  static std::string text;
  return text;
}

ncclResult_t refuse(ncclResult_t code, const char* why) {
  reason() = why;
  return code;
}

/// The calls between ncclGroupStart and ncclGroupEnd.
struct OpenGroup {
  int depth = 0;
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  std::vector<Operation> operations;
};
thread_local OpenGroup open_group;

/// A non-blocking call may have been carried out when it returns, or some looks at its state later.
ncclResult_t begin(Communicator& communicator) {
  communicator.looks_left = 1 + static_cast<int>(chance(3));
  return ncclInProgress;
}

ncclResult_t run(ncclComm_t communicator, cudaStream_t stream, std::vector<Operation> operations) {
  const auto& shared = communicator->shared;
  ++shared->running;
  const auto code = enqueue(stream, [shared, operations = std::move(operations)] {
    shared->group->run(*shared, operations);
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

ncclResult_t call(ncclComm_t communicator, cudaStream_t stream, const Operation& operation,
                  std::size_t sent, std::size_t received) {
  const auto& shared = communicator->shared;
  const auto* const of = stream_of(stream);
  if (communicator->finalized || shared->aborted || shared->looks_left > 0)
    return refuse(ncclInvalidUsage, "the communicator is busy, or gone");
  if (!of || of->device != shared->device)
    return refuse(ncclInvalidArgument, "a stream of another device");
  const auto bytes = size_of(operation.type);
  if (operation.peer < 0 || operation.peer >= shared->group->size() ||
      (operation.from && !reaches(operation.from, sent * bytes, shared->device)) ||
      (operation.to && !reaches(operation.to, received * bytes, shared->device)))
    return refuse(ncclInvalidArgument, "a rank, or memory, that is not there");
  if (open_group.depth == 0)
    return run(communicator, stream, {operation});
  open_group.communicator = communicator;
  open_group.stream = stream;
  open_group.operations.push_back(operation);
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
  *id = {};
  const auto number = ++made;
  std::memcpy(id->internal, &number, sizeof number);
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
  default:
    return "unhandled cuda error";
  }
}

const char* ncclGetLastError(ncclComm_t) {
  return reason().c_str();
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (config->magic != 0xcafebeef || config->blocking != 0 || rank < 0 || rank >= size)
    return refuse(ncclInvalidArgument, "a configuration that is not emulated");
  auto shared = std::make_shared<Communicator>();
  shared->group = group_of(id, size);
  shared->rank = rank;
  shared->device = current_device();
  if (const auto joined = shared->group->join(shared); joined != ncclSuccess)
    return refuse(joined, "two ranks are one, or have one GPU");
  *communicator = new ncclComm{shared};
  return begin(*shared);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  auto& shared = *communicator->shared;
  const bool waits = communicator->finalized ? shared.running > 0 : !shared.group->complete();
  if (shared.failure != ncclSuccess)
    *state = shared.failure;
  else if (shared.looks_left > 0 && --shared.looks_left >= 0)
    *state = ncclInProgress;
  else
    *state = waits ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(ncclComm_t communicator, void* buffer, std::size_t bytes,
                              void** handle) {
  if (!reaches(buffer, bytes, communicator->shared->device))
    return refuse(ncclInvalidArgument, "registered memory that is not the device's");
  *handle = buffer;
  return begin(*communicator->shared);
}

ncclResult_t ncclCommDeregister(ncclComm_t communicator, void* handle) {
  return reaches(handle, 1, communicator->shared->device)
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
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  communicator->shared->group->abort(*communicator->shared);
  delete communicator;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++open_group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (--open_group.depth > 0 || open_group.operations.empty())
    return ncclSuccess;
  return run(open_group.communicator, open_group.stream, std::exchange(open_group.operations, {}));
}

ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclRedOp_t, ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, {Kind::all_reduce, from, to, count, type}, count, count);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                               ncclRedOp_t, ncclComm_t communicator, cudaStream_t stream) {
  const auto all = count * static_cast<std::size_t>(communicator->shared->group->size());
  return call(communicator, stream, {Kind::reduce_scatter, from, to, count, type}, all, count);
}

ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           ncclComm_t communicator, cudaStream_t stream) {
  const auto all = count * static_cast<std::size_t>(communicator->shared->group->size());
  return call(communicator, stream, {Kind::all_gather, from, to, count, type}, count, all);
}

ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                           int root, ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, {Kind::broadcast, from, to, count, type, root}, count, count);
}

ncclResult_t ncclReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                        ncclRedOp_t, int root, ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, {Kind::reduce, from, to, count, type, root}, count, count);
}

ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, {Kind::send, from, nullptr, count, type, peer}, count, 0);
}

ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer,
                      ncclComm_t communicator, cudaStream_t stream) {
  return call(communicator, stream, {Kind::receive, nullptr, to, count, type, peer}, 0, count);
}
}
