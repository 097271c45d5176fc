#include "gloo_communicator.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/cpu/host_stream.hpp"

#include <array>
#include <cstring>
#include <initializer_list>

namespace troupe::collectives {

namespace {

/// A number that only equal calls have, so that different ones never meet: the finalizer of
/// splitmix64 (Steele et al., "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::uint64_t slot_of(const Call& call, int rank) {
  const bool sends = call.kind == CallKind::send;
  const auto kind = call.pairwise() ? CallKind::send : call.kind;
  std::uint64_t slot = 0;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(kind), static_cast<std::uint64_t>(call.sequence),
        static_cast<std::uint64_t>(call.values.elements),
        static_cast<std::uint64_t>(call.values.type),
        static_cast<std::uint64_t>(sends ? rank : call.peer)}) {
    slot = (slot ^ part) + 0x9e3779b97f4a7c15u;
    slot = (slot ^ (slot >> 30)) * 0xbf58476d1ce4e5b9u;
    slot = (slot ^ (slot >> 27)) * 0x94d049bb133111ebu;
    slot ^= slot >> 31;
  }
  return slot;
}

void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from)
    std::memcpy(to, from, bytes);
}

/// One call on the thread of its stream.
class Execution {
public:
  Execution(Transport& transport, const Call& call)
      : transport_{transport}, call_{call}, place_{transport.place()} {}

  Status run() {
    switch (call_.kind) {
    case CallKind::all_reduce:
      return flow(ring_all_reduce(place_, blocks(call_.values.elements)), call_.data());
    case CallKind::reduce_scatter:
      return reduce_scatter();
    case CallKind::all_gather:
      copy_bytes(call_.part(place_.rank), call_.data(), bytes());
      return flow(ring_all_gather(place_, all_blocks()), call_.part(0));
    case CallKind::broadcast:
      return flow(chain_from(call_.peer, place_, bytes()), call_.data());
    case CallKind::reduce:
      return flow(chain_to(call_.peer, place_, bytes()), call_.data());
    case CallKind::gather:
      return gather();
    case CallKind::send:
      return flow({.to = call_.peer, .first = cut(0, bytes())}, call_.data());
    case CallKind::receive:
      return flow({.from = call_.peer, .received = cut(0, bytes())}, call_.data());
    case CallKind::barrier:
      return barrier();
    }
    return {};
  }

private:
  std::size_t bytes() const { return call_.values.bytes(); }
  Blocks blocks(std::size_t elements) const { return {elements, size_of(call_.values.type)}; }
  Blocks all_blocks() const {
    return blocks(call_.values.elements * static_cast<std::size_t>(place_.world_size));
  }

  Status flow(const Flow& flow, std::byte* memory) {
    return transport_.run(flow, memory, call_.values.type, slot_of(call_, place_.rank) + part_++);
  }

  Status reduce_scatter() {
    TROUPE_TRY(flow(ring_reduce_scatter(place_, all_blocks()), call_.part(0)));
    copy_bytes(call_.data(), call_.part(place_.rank), bytes());
    return {};
  }

  Status gather() {
    if (call_.peer != place_.rank)
      return flow({.to = call_.peer, .first = cut(0, bytes())}, call_.data());
    copy_bytes(call_.part(place_.rank), call_.data(), bytes());
    for (int rank = 0; rank < place_.world_size; ++rank) {
      part_ = 0; // every other rank has one flow, to here
      if (rank != place_.rank)
        TROUPE_TRY(flow({.from = rank, .received = cut(0, bytes())}, call_.part(rank)));
    }
    return {};
  }

  /// Dissemination: after round k everybody has heard, by others, of 2^(k+1) ranks (Hensgen,
  /// Finkel, Manber, "Two algorithms for barrier synchronization", IJPP 1988).
  Status barrier() {
    std::array<std::byte, 2> memory = {};
    for (int distance = 1; distance < place_.world_size; distance *= 2)
      TROUPE_TRY(flow({.from = place_.wrap(place_.rank - distance),
                       .to = place_.wrap(place_.rank + distance),
                       .first = {{0, 1}},
                       .received = {{1, 1}}},
                      memory.data()));
    return {};
  }

  Transport& transport_;
  const Call& call_;
  Place place_;
  std::uint64_t part_ = 0; ///< which of the call's flows
};

class GlooCommunicator final : public CallCommunicator {
public:
  explicit GlooCommunicator(std::shared_ptr<Transport> transport)
      : CallCommunicator{transport->place().rank, transport->place().world_size},
        transport_{std::move(transport)} {}

  void abort(const Error& reason) override { transport_->abort(reason); }

private:
  void enqueue(Stream& stream, const Call& call) override {
    cpu::host_stream(stream).enqueue([transport = transport_, call]() -> Status {
      auto status = Execution{*transport, call}.run();
      if (status)
        return status;
      auto error = std::move(status).error();
      return failure({error.code,
                      fmt::format("{}: {}", call.name(), error.message),
                      {.rank = transport->place().rank}});
    });
  }

  std::shared_ptr<Transport> transport_;
};

} // namespace

Result<std::unique_ptr<Communicator>> connect_gloo(const GlooOptions& options,
                                                   KeyValueStore& store) {
  TROUPE_TRY(auto transport, Transport::connect(options, store));
  return std::make_unique<GlooCommunicator>(std::move(transport));
}

} // namespace troupe::collectives
