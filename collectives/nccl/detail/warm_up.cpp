// The calls that a new group makes before any stream waits for a call.
#include "collectives/nccl/detail/connection.hpp"
#include "core/fail.hpp"

namespace troupe::collectives {

namespace {

constexpr std::size_t few = 64;
/// Numbers of f32 elements: messages of 256 B, 64 KiB and 1 MiB.
constexpr std::array<std::size_t, 3> sizes = {few, std::size_t{1} << 14, std::size_t{1} << 18};
constexpr std::size_t largest_bytes = sizes.back() * sizeof(float);
constexpr DType every_type[] = {DType::f32, DType::f16, DType::bf16,
                                DType::i32, DType::u8,  DType::f64};

/// Returns the same calls for every rank, in the same order. NCCL loads a kernel and connects an
/// algorithm or a peer when a call first needs it. Both may wait for an idle device, and a device
/// does not become idle while a stream waits for the call itself. The list has each kind of call:
/// sums in every type, sizes for which NCCL takes different algorithms, and a shift over every
/// distance, which sends to every peer and receives from every peer. Places a rank's values at the
/// beginning of the buffer, those of all ranks after them.
std::vector<Call> warm_up_calls(int world_size, std::byte* buffer) {
  std::vector<Call> calls;
  const auto add = [&](CallKind kind, std::size_t elements, DType type, int peer = 0) {
    calls.push_back({.kind = kind,
                     .values = {buffer, elements, type},
                     .all = buffer + largest_bytes,
                     .peer = peer});
  };
  const auto add_all = [&](const auto& kinds, std::size_t elements, DType type) {
    for (const auto kind : kinds)
      add(kind, elements, type);
  };
  constexpr std::array sums = {CallKind::all_reduce, CallKind::reduce_scatter, CallKind::reduce};
  constexpr std::array moves = {CallKind::all_gather, CallKind::broadcast, CallKind::gather};
  for (const auto size : sizes) {
    add_all(sums, size, DType::f32);
    add_all(moves, size, DType::f32);
  }
  for (const auto type : every_type)
    add_all(sums, few, type);
  for (int distance = 0; distance < world_size; ++distance) // 0: to itself, as the root of a gather
    add(CallKind::shift, few, DType::f32, distance);
  add(CallKind::barrier, 0, DType::f32);
  return calls;
}

} // namespace

/// Forbids CUDA calls that wait for an idle device: they would block until every rank has arrived.
/// Each call ends before the next begins, so that nothing is loaded while a call runs.
Status NcclConnection::warm_up() {
  const auto bytes = (static_cast<std::size_t>(options_.world_size) + 1) * largest_bytes;
  TROUPE_TRY(warm_up_memory_, owner_->device().allocate(bytes, MemoryKind::workspace));
  const auto forbidden = owner_->device().peers().idle_calls->forbid();
  const auto end = Clock::now() + options_.connect_timeout;
  for (const auto& call : warm_up_calls(options_.world_size, warm_up_memory_->data())) {
    const auto begun = while_abortable([&] { return begin(call); });
    TROUPE_TRY(aborted());
    TROUPE_TRY(owner_->library().check(begun, to_string(call.kind)));
    TROUPE_TRY(settle(to_string(call.kind), options_.connect_timeout));
    TROUPE_TRY(await(*stream_->record(), end));
  }
  warm_up_memory_.reset();
  return {};
}

} // namespace troupe::collectives
