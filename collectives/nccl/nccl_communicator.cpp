#include "collectives/nccl/nccl_communicator.hpp"

#include "core/fail.hpp"

namespace troupe::collectives {

namespace {

/// How often to ask NCCL whether an unfinished call has an error.
constexpr std::chrono::milliseconds failure_interval{100};

/// An unfinished call, polled by the owner's thread and by the device's waits.
class Pending {
public:
  /// The rank's stream reaches the call at `event` and, directly after it, at `came`.
  Pending(std::shared_ptr<NcclConnection> connection, const Call& call, EventPtr event,
          std::shared_ptr<gpu::StreamMark> came)
      : connection_{std::move(connection)}, call_{call}, event_{std::move(event)}, came_{std::move(
                                                                                       came)} {}

  /// Runs on the owner's thread.
  void issue() {
    auto finished = connection_->issue(call_, event_);
    if (!finished)
      connection_->abort(explained(finished.error()));
    const std::lock_guard lock{mutex_};
    finished_ = finished ? std::move(*finished) : nullptr;
  }

  /// Runs on a thread that must not call CUDA. The watchdog counts from when this rank's stream
  /// reached the call.
  std::optional<Status> poll() {
    if (const auto aborted = connection_->aborted(); !aborted)
      return failure(explained(aborted.error()));
    {
      const std::lock_guard lock{mutex_};
      if (finished_)
        if (auto outcome = finished_->poll())
          return outcome;
    }
    const auto waited = came_->age();
    if (waited && *waited > look_at_) {
      look_at_ = *waited + failure_interval;
      connection_->owner().post([connection = connection_] { connection->look(); });
    }
    if (waited && *waited > connection_->options().timeout)
      connection_->abort({Errc::collective,
                          fmt::format("timed out after {} ms: another rank did not join the call",
                                      connection_->options().timeout.count())});
    return std::nullopt;
  }

private:
  Error explained(const Error& error) const {
    const auto name = call_.name();
    return {error.code,
            error.message.find(name) == std::string::npos
                ? fmt::format("{}: {}", name, error.message)
                : error.message,
            {.rank = connection_->options().rank}};
  }

  std::shared_ptr<NcclConnection> connection_;
  Call call_;
  EventPtr event_;
  std::shared_ptr<gpu::StreamMark> came_;
  std::chrono::nanoseconds look_at_ =
      failure_interval; ///< for poll() only; since the stream reached the call
  std::mutex mutex_;
  std::shared_ptr<gpu::StreamMark> finished_;
};

class NcclCommunicator final : public Communicator {
public:
  explicit NcclCommunicator(std::shared_ptr<NcclConnection> connection)
      : Communicator{connection->options().rank, connection->options().world_size},
        connection_{std::move(connection)} {}
  /// Waits until NCCL has deregistered the buffers, which may be freed after this.
  ~NcclCommunicator() override {
    const auto closed =
        connection_->owner().run([connection = connection_] { return connection->close(); },
                                 "closing", connection_->options().timeout);
    if (!closed)
      connection_->abort(closed.error());
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  void abort(const Error& reason) override { connection_->abort(reason); }

private:
  void enqueue(Stream& stream, const Call& call) override {
    auto& on = gpu::cuda_stream(stream);
    if (on.failed())
      return;
    // Taken before NCCL is called. Its kernel runs until the other ranks' kernels do: a call that
    // waits for an idle device would never return, and wait_for() would wait for that call.
    const auto forbidden = connection_->owner().device().peers().idle_calls->forbid();
    auto event = on.record();
    auto came = on.mark();
    if (!came)
      return;
    const auto pending =
        std::make_shared<Pending>(connection_, call, std::move(event), std::move(came));
    connection_->owner().post([pending] { pending->issue(); });
    on.wait_for([pending] { return pending->poll(); });
  }

  std::shared_ptr<NcclConnection> connection_;
};

} // namespace

Result<NcclId> make_nccl_id(const NcclLibrary& library) {
  ncclUniqueId id;
  TROUPE_TRY(library.check(library.unique_id(&id), "creation of an id"));
  return std::to_array(id.internal);
}

Result<std::unique_ptr<Communicator>> connect_nccl(const std::shared_ptr<NcclOwner>& owner,
                                                   const NcclOptions& options) {
  auto connection = std::make_shared<NcclConnection>(owner, options);
  const auto connected = owner->run([connection] { return connection->connect(); },
                                    "initialization", options.connect_timeout);
  if (!connected) {
    connection->abort(connected.error());
    return failure(connected.error());
  }
  return std::make_unique<NcclCommunicator>(std::move(connection));
}

} // namespace troupe::collectives
