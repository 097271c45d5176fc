/// One rank's NCCL communicator. Everything except aborted() and abort() runs on the GPU's owner
/// thread. If the driver blocks that thread, another one aborts the communicator.
#pragma once

#include "collectives/call.hpp"
#include "collectives/nccl/detail/owner.hpp"
#include "core/net/cancellation.hpp"

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <span>

namespace troupe::collectives {

/// Created by one rank of a new group and sent to the others.
using NcclId = std::array<char, NCCL_UNIQUE_ID_BYTES>;

struct NcclOptions {
  int rank = 0, world_size = 1;
  NcclId id = {};
  /// Device memory that calls will use, registered once so that NCCL moves it without copies. Must
  /// outlive the communicator.
  std::vector<std::span<std::byte>> buffers;
  std::chrono::milliseconds timeout{30000};         ///< from this rank's arrival at a call
  std::chrono::milliseconds connect_timeout{60000}; ///< for all ranks to connect
};

class NcclConnection : public std::enable_shared_from_this<NcclConnection> {
public:
  NcclConnection(std::shared_ptr<NcclOwner> owner, NcclOptions options);

  const NcclOptions& options() const { return options_; }
  NcclOwner& owner() const { return *owner_; }

  /// Waits for all ranks, registers the buffers, and makes a call of each kind.
  Status connect();
  /// Enqueues the call on NCCL's stream after `came`. Returns a mark at the end of the call.
  Result<std::shared_ptr<gpu::StreamMark>> issue(const Call& call, const EventPtr& came);
  /// Aborts if NCCL or the stream has an error after calls were issued, for example because a peer
  /// has died. The abort does not complete any call.
  void look();
  /// Deregisters the buffers and begins to free the rest, for which all ranks have to close.
  Status close();

  /// Thread-safe; does not block.
  Status aborted() const { return aborted_.status(); }
  void abort(const Error& reason);

private:
  using Clock = std::chrono::steady_clock;

  Status register_buffers();
  Status warm_up();
  Status await(const Event& event, Clock::time_point end) const;
  void free_when_final(Clock::time_point end);
  Status settle(std::string_view operation, std::chrono::milliseconds limit) const;
  ncclResult_t begin(const Call& call);
  ncclResult_t grouped(const std::function<ncclResult_t()>& calls) const;
  ncclResult_t exchange(const Call& call);
  /// Runs calls of CUDA or NCCL during which another thread may abort. Afterwards aborted() tells
  /// whether the communicator still exists.
  template <class Calls>
  auto while_abortable(const Calls& calls) {
    set_in_driver(true);
    auto result = calls();
    set_in_driver(false);
    return result;
  }
  void set_in_driver(bool in_driver) {
    const std::lock_guard lock{mutex_};
    in_driver_ = in_driver;
  }
  void abort_now();
  void abort_if_blocked();
  void abort_communicator(ncclComm_t communicator) const;
  gpu::CudaStream& stream() const { return gpu::cuda_stream(*stream_); }

  std::shared_ptr<NcclOwner> owner_;
  NcclOptions options_;
  std::unique_ptr<Stream> stream_;
  BufferPtr token_;          ///< the operand of a barrier's sum
  BufferPtr warm_up_memory_; ///< held as long as a call may still write to it
  std::atomic<ncclComm_t> communicator_ = nullptr;
  std::vector<void*> registrations_;
  net::Cancellation aborted_;
  std::mutex mutex_;       ///< guards the next
  bool in_driver_ = false; ///< the owner's thread is in a call that the driver may block
};

} // namespace troupe::collectives
