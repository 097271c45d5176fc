#include "shared_communicator.hpp"

#include "rendezvous.hpp"
#include "troupe/collectives/sums.hpp"
#include "troupe/cpu/host_stream.hpp"

#include <algorithm>
#include <cstring>

namespace troupe::collectives {

namespace {

using Calls = std::vector<Call>;

/// Between summing it and copying it to the others, a piece stays in the first-level cache.
constexpr std::size_t piece_elements = 1024;

/// memmove, for null pointers too and for values that lie where they shall be.
void copy_bytes(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes > 0 && to != from)
    std::memcpy(to, from, bytes);
}

/// Rank `rank`'s slice of the sum, to every one of `targets`.
void sum_slice(const Calls& calls, int rank, std::span<const int> targets) {
  const auto& values = calls[0].values;
  const auto me = static_cast<std::size_t>(rank), ranks = calls.size();
  const auto end = values.elements * (me + 1) / ranks, size = size_of(values.type);
  std::vector<const void*> sources(ranks);
  for (auto at = values.elements * me / ranks; at < end; at += piece_elements) {
    const auto count = std::min(piece_elements, end - at);
    std::ranges::transform(calls, sources.begin(),
                           [&](const Call& call) { return call.data() + at * size; });
    auto* const sum = calls[static_cast<std::size_t>(targets[0])].data() + at * size;
    sum_in_order(values.type, sources, sum, count);
    for (const int target : targets.subspan(1))
      copy_bytes(calls[static_cast<std::size_t>(target)].data() + at * size, sum, count * size);
  }
}

void all_reduce(const Calls& calls, int rank) {
  std::vector<int> everyone(calls.size());
  for (std::size_t i = 0; i < everyone.size(); ++i)
    everyone[i] = static_cast<int>(i);
  sum_slice(calls, rank, everyone);
}

void reduce_scatter(const Calls& calls, int rank) {
  std::vector<const void*> sources;
  for (const auto& call : calls)
    sources.push_back(call.part(rank));
  const auto& mine = calls[static_cast<std::size_t>(rank)].values;
  sum_in_order(mine.type, sources, mine.data, mine.elements);
}

void all_gather(const Calls& calls, int rank) {
  const auto& mine = calls[static_cast<std::size_t>(rank)];
  for (int other = 0; other < static_cast<int>(calls.size()); ++other)
    copy_bytes(mine.part(other), calls[static_cast<std::size_t>(other)].data(),
               mine.values.bytes());
}

/// What a rank does when all have come; nothing it touches is touched by another rank.
void work(const Calls& calls, int rank) {
  const auto& mine = calls[static_cast<std::size_t>(rank)];
  const auto peer = static_cast<std::size_t>(std::max(mine.peer, 0));
  switch (mine.kind) {
  case CallKind::all_reduce:
    return all_reduce(calls, rank);
  case CallKind::reduce_scatter:
    return reduce_scatter(calls, rank);
  case CallKind::all_gather:
    return all_gather(calls, rank);
  case CallKind::reduce:
    return sum_slice(calls, rank, {&mine.peer, 1});
  case CallKind::gather:
    return copy_bytes(calls[peer].part(rank), mine.data(), mine.values.bytes());
  case CallKind::broadcast:
  case CallKind::receive:
    return copy_bytes(mine.data(), calls[peer].data(), mine.values.bytes());
  case CallKind::send:
  case CallKind::barrier:
    return;
  }
}

/// A rank's place in its group. Shared with what it has enqueued, so that it leaves after that.
struct Seat {
  Seat(std::shared_ptr<Rendezvous> group, int rank_) : rendezvous{std::move(group)}, rank{rank_} {}
  ~Seat() { rendezvous->leave(rank); }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;

  std::shared_ptr<Rendezvous> rendezvous;
  int rank;
};

class SharedCommunicator final : public CallCommunicator {
public:
  SharedCommunicator(const std::shared_ptr<Rendezvous>& rendezvous, int rank)
      : CallCommunicator{rank, rendezvous->world_size()}, seat_{std::make_shared<Seat>(rendezvous,
                                                                                       rank)} {}

  void abort(const Error& reason) override { seat_->rendezvous->abort(reason); }

private:
  void enqueue(Stream& stream, const Call& call) override {
    cpu::host_stream(stream).enqueue([seat = seat_, call]() -> Status {
      const auto calls = seat->rendezvous->arrive(seat->rank, call);
      if (!calls)
        return failure(calls.error());
      work(*calls, seat->rank);
      // Nobody may go on before all have read and written.
      seat->rendezvous->depart(seat->rank, call);
      return {};
    });
  }

  std::shared_ptr<Seat> seat_;
};

} // namespace

std::vector<std::unique_ptr<Communicator>> make_shared_group(int world_size,
                                                             std::chrono::milliseconds timeout) {
  const auto rendezvous = std::make_shared<Rendezvous>(world_size, timeout);
  std::vector<std::unique_ptr<Communicator>> group;
  group.reserve(static_cast<std::size_t>(world_size));
  for (int rank = 0; rank < world_size; ++rank)
    group.push_back(std::make_unique<SharedCommunicator>(rendezvous, rank));
  return group;
}

} // namespace troupe::collectives
