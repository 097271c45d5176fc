#include "tests/emulation/nccl/communicator.hpp"

#include "tests/emulation/nccl/kernels.hpp"
#include "tests/emulation/nccl/last_error.hpp"
#include "tests/emulation/runtime/loading.hpp"
#include "tests/emulation/runtime/settings.hpp"

#include <cstring>

namespace emulation::nccl {

void Communicator::join(int rank) {
  const auto gpu = settings().visible[static_cast<std::size_t>(device_)];
  group_->join(shared_from_this(), {rank, gpu});
}

void Communicator::prepare(const Call& call) {
  load(device_, kernel_of(call.operation), "a kernel of NCCL");
  if (!call.operation.collective())
    load(device_, &peers_[static_cast<std::size_t>(call.operation.peer)], "a connection of NCCL");
}

void Communicator::run(const std::vector<Call>& calls) {
  if (aborted)
    return;
  const auto first = tickets_;
  for (const auto& call : calls) {
    const auto* const begin = static_cast<const std::byte*>(call.from);
    group_->bring(*this, tickets_++, {call.operation, Bytes(begin, begin + call.sent)});
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto result = wait(first + i);
    if (!result)
      return;
    if (!result->empty())
      std::memcpy(calls[i].to, result->data(), result->size());
  }
}

/// Returns null when the communicator was aborted.
BytesPtr Communicator::wait(std::uint64_t ticket) {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return aborted || results_.contains(ticket); });
  return aborted ? nullptr : results_.extract(ticket).mapped();
}

void Communicator::abort() {
  {
    const std::lock_guard lock{mutex_};
    aborted = true;
    changed_.notify_all();
  }
  leave();
}

void Communicator::complete() {
  complete_ = true;
}

void Communicator::answer(std::uint64_t ticket, BytesPtr result) {
  const std::lock_guard lock{mutex_};
  results_[ticket] = std::move(result);
  changed_.notify_all();
}

void Communicator::fail(ncclResult_t why) {
  if (why == ncclRemoteError && !settings().losses_seen)
    return;
  failure_ = refuse(why, why == ncclInvalidUsage
                             ? "ranks do different things, or two are one, or have one GPU"
                             : "the process of a rank has ended");
}

} // namespace emulation::nccl
