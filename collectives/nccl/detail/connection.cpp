#include "collectives/nccl/detail/connection.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <thread>

namespace troupe::collectives {

namespace {

/// How often to check whether a non-blocking call has completed.
constexpr std::chrono::microseconds look_interval{20};
/// How long an abort waits for the owner's thread before another thread aborts.
constexpr std::chrono::seconds abort_grace{1};

} // namespace

NcclConnection::NcclConnection(std::shared_ptr<NcclOwner> owner, NcclOptions options)
    : owner_{std::move(owner)}, options_{std::move(options)},
      stream_{owner_->device().create_stream({.name = "nccl", .urgent = true})} {}

Status NcclConnection::connect() {
  TROUPE_TRY(aborted());
  TROUPE_TRY(token_, owner_->device().allocate(sizeof(std::int32_t), MemoryKind::workspace));
  const auto& library = owner_->library();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclUniqueId id;
  std::ranges::copy(options_.id, id.internal);
  ncclComm_t made = nullptr;
  const auto begun = library.init_rank(&made, options_.world_size, id, options_.rank, &config);
  communicator_ = made;
  TROUPE_TRY(library.check(begun, "initialization"));
  TROUPE_TRY(settle("initialization", options_.connect_timeout));
  TROUPE_TRY(register_buffers());
  return warm_up();
}

Status NcclConnection::register_buffers() {
  const auto& library = owner_->library();
  for (const auto& buffer : options_.buffers) {
    TROUPE_TRY(
        library.check(library.register_buffer(communicator_, buffer.data(), buffer.size_bytes(),
                                              &registrations_.emplace_back()),
                      "registration of a buffer"));
    TROUPE_TRY(settle("registration of a buffer", options_.timeout));
  }
  return {};
}

Status NcclConnection::await(const Event& event, Clock::time_point end) const {
  while (!event.ready()) {
    TROUPE_TRY(aborted());
    if (Clock::now() > end)
      return fail(Errc::collective,
                  "NCCL's first calls did not finish within {} ms: a rank is missing",
                  options_.connect_timeout.count());
    std::this_thread::sleep_for(look_interval);
  }
  return event.status();
}

/// Waits for a non-blocking call to complete. Until then, only an abort may be called.
Status NcclConnection::settle(std::string_view operation, std::chrono::milliseconds limit) const {
  const auto& library = owner_->library();
  const auto end = Clock::now() + limit;
  for (;;) {
    auto state = ncclInProgress;
    TROUPE_TRY(library.check(library.async_error(communicator_, &state), "query of its state"));
    if (state != ncclInProgress)
      return library.check(state, operation);
    TROUPE_TRY(aborted());
    if (Clock::now() > end)
      return fail(Errc::collective, "NCCL's {} did not finish within {} ms", operation,
                  limit.count());
    std::this_thread::sleep_for(look_interval);
  }
}

Result<std::shared_ptr<gpu::StreamMark>> NcclConnection::issue(const Call& call,
                                                               const EventPtr& came) {
  TROUPE_TRY(aborted());
  const bool moves_values = call.values.elements > 0 || call.kind == CallKind::barrier;
  const auto begun = while_abortable([&] {
    stream_->wait(came);
    return moves_values ? begin(call) : ncclSuccess;
  });
  TROUPE_TRY(aborted());
  TROUPE_TRY(owner_->library().check(begun, to_string(call.kind)));
  if (moves_values)
    TROUPE_TRY(settle(to_string(call.kind), options_.timeout));
  auto finished = while_abortable([this] { return stream().mark(); });
  TROUPE_TRY(aborted());
  TROUPE_TRY(stream().status());
  return finished;
}

ncclResult_t NcclConnection::begin(const Call& call) {
  const auto& library = owner_->library();
  const auto& [data, elements, dtype] = call.values;
  const auto type = nccl_type(dtype);
  auto* const stream = this->stream().handle();
  switch (call.kind) {
  case CallKind::all_reduce:
    return library.all_reduce(data, data, elements, type, ncclSum, communicator_, stream);
  case CallKind::reduce_scatter:
    return library.reduce_scatter(call.all, data, elements, type, ncclSum, communicator_, stream);
  case CallKind::all_gather:
    return library.all_gather(data, call.all, elements, type, communicator_, stream);
  case CallKind::broadcast:
    return library.broadcast(data, data, elements, type, call.peer, communicator_, stream);
  case CallKind::reduce:
    return library.reduce(data, data, elements, type, ncclSum, call.peer, communicator_, stream);
  case CallKind::gather:
  case CallKind::shift:
    return exchange(call);
  case CallKind::send:
    return library.send(data, elements, type, call.peer, communicator_, stream);
  case CallKind::receive:
    return library.receive(data, elements, type, call.peer, communicator_, stream);
  case CallKind::barrier:
    return library.all_reduce(token_->data(), token_->data(), 1, ncclInt32, ncclSum, communicator_,
                              stream);
  }
  return ncclInvalidUsage;
}

/// Makes sends and receives as one call.
ncclResult_t NcclConnection::grouped(const std::function<ncclResult_t()>& calls) const {
  const auto& library = owner_->library();
  if (const auto started = library.group_start(); started != ncclSuccess)
    return started;
  const auto result = calls();
  const auto ended = library.group_end();
  return result == ncclSuccess ? ended : result;
}

/// Gathers or shifts.
ncclResult_t NcclConnection::exchange(const Call& call) {
  const auto& library = owner_->library();
  const auto& values = call.values;
  const auto type = nccl_type(values.type);
  auto* const stream = this->stream().handle();
  const int ranks = options_.world_size;
  const auto send = [&](int to) {
    return library.send(values.data, values.elements, type, to, communicator_, stream);
  };
  const auto receive = [&](void* into, int from) {
    return library.receive(into, values.elements, type, from, communicator_, stream);
  };
  const Place place{options_.rank, ranks};
  return grouped([&] {
    if (call.kind == CallKind::shift) {
      const auto sent = send(place.at(call.peer));
      return sent != ncclSuccess ? sent : receive(call.all, place.at(-call.peer));
    }
    auto result = send(call.peer);
    for (int rank = 0; call.peer == options_.rank && rank < ranks; ++rank)
      if (result == ncclSuccess)
        result = receive(call.part(rank), rank);
    return result;
  });
}

void NcclConnection::look() {
  if (!communicator_)
    return;
  if (const auto enqueued = stream().status(); !enqueued)
    return abort(enqueued.error());
  const auto& library = owner_->library();
  auto state = ncclInProgress;
  const auto asked = library.async_error(communicator_, &state);
  const auto sound = library.check(asked == ncclSuccess ? state : asked, "connection");
  if (!sound)
    abort(sound.error());
}

Status NcclConnection::close() {
  if (!communicator_)
    return {};
  const auto& library = owner_->library();
  for (auto* const registration : registrations_)
    TROUPE_TRY(library.check(library.deregister_buffer(communicator_, registration),
                             "deregistration of a buffer"));
  TROUPE_TRY(library.check(library.finalize(communicator_), "finalization"));
  free_when_final(Clock::now() + options_.timeout);
  return {};
}

/// Checks once and enqueues itself again: other ranks may take long, and the owner can run other
/// tasks in between.
void NcclConnection::free_when_final(Clock::time_point end) {
  if (!communicator_)
    return;
  const auto& library = owner_->library();
  auto state = ncclInProgress;
  const auto asked = library.async_error(communicator_, &state);
  if (asked != ncclSuccess || (state == ncclInProgress && Clock::now() > end))
    return abort_now();
  if (state == ncclSuccess)
    library.destroy(communicator_.exchange(nullptr));
  else if (state != ncclInProgress)
    abort_now();
  else
    owner_->post([me = shared_from_this(), end] {
      std::this_thread::sleep_for(look_interval);
      me->free_when_final(end);
    });
}

void NcclConnection::abort(const Error& reason) {
  if (!aborted_.cancel(reason))
    return;
  owner_->post([me = shared_from_this()] { me->abort_now(); });
  std::thread{[connection = weak_from_this()] {
    std::this_thread::sleep_for(abort_grace);
    if (const auto me = connection.lock())
      me->abort_if_blocked();
  }}.detach();
}

void NcclConnection::abort_now() {
  if (auto* const communicator = communicator_.exchange(nullptr))
    abort_communicator(communicator);
}

/// A call that waits for an idle device, of this process or a library, may block the owner's thread
/// until NCCL's kernel ends, which waits for a rank whose thread is blocked, too. Only an abort
/// ends the kernel.
void NcclConnection::abort_if_blocked() {
  std::unique_lock lock{mutex_};
  auto* const communicator = in_driver_ ? communicator_.exchange(nullptr) : nullptr;
  lock.unlock();
  if (communicator)
    abort_communicator(communicator);
}

/// Aborts in a group, as NCCL requires if other calls may be using the communicator.
void NcclConnection::abort_communicator(ncclComm_t communicator) const {
  const auto& library = owner_->library();
  // Ignores errors: only the reason of the abort matters.
  library.group_start();
  library.abort(communicator);
  library.group_end();
}

} // namespace troupe::collectives
