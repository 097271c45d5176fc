#include "collectives/tcp/tcp_communicator.hpp"

#include "collectives/detail/sums.hpp"
#include "collectives/tcp/detail/transport.hpp"
#include "core/fail.hpp"
#include "cpu/host_stream.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace troupe::collectives {

namespace {

/// Returns a number that only equal calls share, so that a mismatch is detected: the finalizer of
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

/// Most bytes of an all-reduce by doubling: so few take longer to arrive than to send.
constexpr std::size_t doubling_bytes = 8 << 10;

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
      if (bytes() <= doubling_bytes)
        return all_reduce_by_doubling();
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
    case CallKind::shift:
      return shift();
    case CallKind::send:
      return send();
    case CallKind::receive:
      return receive();
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

  Status flow(const Flow& flow, std::byte* memory) { return this->flow(flow, {memory, memory}); }
  Status flow(const Flow& flow, const FlowMemory& memory) {
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
      part_ = 0; // every other rank has one flow to the root
      if (rank != place_.rank)
        TROUPE_TRY(flow({.from = rank, .received = cut(0, bytes())}, call_.part(rank)));
    }
    return {};
  }

  Status shift() {
    const auto to = place_.at(call_.peer);
    if (to == place_.rank || bytes() == 0) {
      copy_bytes(call_.part(0), call_.data(), bytes());
      return {};
    }
    const Flow both{.from = place_.at(-call_.peer),
                    .to = to,
                    .first = cut(0, bytes()),
                    .received = cut(0, bytes())};
    return flow(both, {call_.data(), call_.part(0)});
  }

  /// Completes when the receiver has the values, not when the kernel has buffered them.
  Status send() {
    std::byte received{};
    TROUPE_TRY(flow({.to = call_.peer, .first = cut(0, bytes())}, call_.data()));
    return flow({.from = call_.peer, .received = {{0, 1}}}, &received);
  }

  Status receive() {
    std::byte received{};
    TROUPE_TRY(flow({.from = call_.peer, .received = cut(0, bytes())}, call_.data()));
    return flow({.to = call_.peer, .first = {{0, 1}}}, &received);
  }

  /// Recursive doubling: the least number of sequential messages. Ranks beyond a power of two first
  /// send their values to a neighbour (Thakur, Rabenseifner, Gropp, "Optimization of collective
  /// communication operations in MPICH", IJHPCA 2005).
  Status all_reduce_by_doubling() {
    if (bytes() == 0)
      return {};
    const int most = static_cast<int>(std::bit_floor(static_cast<unsigned>(place_.world_size)));
    const int pairs = place_.world_size - most;
    const bool in_pair = place_.rank < 2 * pairs, gives = in_pair && place_.rank % 2 == 0;
    const auto all = cut(0, bytes());
    if (gives) {
      TROUPE_TRY(flow({.to = place_.rank + 1, .first = all}, call_.data()));
      part_ = result_part;
      return flow({.from = place_.rank + 1, .received = all}, call_.data());
    }
    if (in_pair)
      TROUPE_TRY(
          flow({.from = place_.rank - 1, .received = all, .summed = all.size()}, call_.data()));
    const int mine = in_pair ? place_.rank / 2 : place_.rank - pairs;
    part_ = 1; // the same on all ranks, whether they received a neighbour's values or not
    for (int distance = 1; distance < most; distance *= 2) {
      const int other = mine ^ distance;
      TROUPE_TRY(add_that_of(other < pairs ? 2 * other + 1 : other + pairs));
    }
    part_ = result_part;
    return in_pair ? flow({.to = place_.rank - 1, .first = all}, call_.data()) : Status{};
  }

  /// Both ranks get the sum of their values. A copy is sent, because the sum replaces the values.
  Status add_that_of(int rank) {
    std::array<std::byte, 2 * doubling_bytes> memory;
    copy_bytes(memory.data(), call_.data(), bytes());
    TROUPE_TRY(flow({.from = rank,
                     .to = rank,
                     .first = {{0, bytes()}},
                     .received = {{doubling_bytes, bytes()}}},
                    memory.data()));
    add(call_.values.type, call_.data(), memory.data() + doubling_bytes, call_.values.elements);
    return {};
  }

  /// Dissemination: after round k, every rank has heard directly or indirectly of 2^(k+1) ranks
  /// (Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization", IJPP 1988).
  Status barrier() {
    std::array<std::byte, 2> memory = {};
    for (int distance = 1; distance < place_.world_size; distance *= 2)
      TROUPE_TRY(flow({.from = place_.at(-distance),
                       .to = place_.at(distance),
                       .first = {{0, 1}},
                       .received = {{1, 1}}},
                      memory.data()));
    return {};
  }

  Transport& transport_;
  const Call& call_;
  Place place_;
  static constexpr std::uint64_t result_part = 64; ///< after any number of rounds
  std::uint64_t part_ = 0;                         ///< index of the flow in the call
};

class TcpCommunicator final : public Communicator {
public:
  explicit TcpCommunicator(std::shared_ptr<Transport> transport)
      : Communicator{transport->place().rank, transport->place().world_size}, transport_{std::move(
                                                                                  transport)} {}

  void abort(const Error& reason) override { transport_->channel().abort(reason); }

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

Result<std::unique_ptr<Communicator>>
connect_tcp(ChannelOptions options, const std::shared_ptr<ConnectionGroup>& connection_group) {
  const auto transport = std::make_shared<Transport>(std::move(options), connection_group);
  auto& channel = transport->channel();
  // A barrier connects each rank to its neighbours in the ring and in the rounds of small calls.
  const Call barrier{.kind = CallKind::barrier, .sequence = -1};
  if (const auto met = Execution{*transport, barrier}.run(); !met) {
    TROUPE_TRY(connection_group->status()); // the reason, if the group was cancelled
    const auto& here = channel.options();
    return failure({Errc::network,
                    fmt::format("rank {} could not connect to the {} ranks of {}: {}", here.member,
                                here.size(), here.group, met.error().message),
                    {.rank = here.member}});
  }
  channel.connected();
  return std::make_unique<TcpCommunicator>(transport);
}

} // namespace troupe::collectives
