#include "collectives/shared_device/detail/exchange.hpp"

#include "core/fail.hpp"

#include <algorithm>

namespace troupe::collectives {

namespace {

/// A rank's work after all ranks have arrived; no other rank touches memory that it writes.
class Work {
public:
  Work(const std::vector<Call>& calls, int rank, SharedMemory& memory)
      : calls_{calls}, me_{static_cast<std::size_t>(rank)}, rank_{rank}, memory_{memory} {}

  void run() {
    const auto& mine = calls_[me_];
    switch (mine.kind) {
    case CallKind::all_reduce:
      return sum_slice(0, static_cast<int>(calls_.size()));
    case CallKind::reduce_scatter:
      return reduce_scatter();
    case CallKind::all_gather:
      return all_gather();
    case CallKind::reduce:
      return sum_slice(mine.peer, mine.peer + 1);
    case CallKind::gather:
      return move(peer().part(rank_), mine.data(), mine.values.bytes());
    case CallKind::broadcast:
    case CallKind::receive:
      return move(mine.data(), peer().data(), mine.values.bytes());
    case CallKind::shift:
      return move(mine.part(0), source_of_shift().data(), mine.values.bytes());
    case CallKind::send:
    case CallKind::barrier:
      return;
    }
  }

private:
  const Call& of(int rank) const { return calls_[static_cast<std::size_t>(rank)]; }
  const Call& peer() const { return of(calls_[me_].peer); }
  const Call& source_of_shift() const {
    return of(Place{rank_, static_cast<int>(calls_.size())}.at(-calls_[me_].peer));
  }

  /// Accepts null pointers without bytes, and values that are already in place.
  void move(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes > 0 && to != from)
      memory_.copy(to, from, bytes);
  }

  /// Writes this rank's block of the sum to the ranks from `first` to the one before `end_rank`.
  void sum_slice(int first, int end_rank) {
    const auto& values = calls_[me_].values;
    const auto end = values.elements * (me_ + 1) / calls_.size(), size = size_of(values.type);
    std::vector<const void*> sources(calls_.size());
    std::size_t count = 0;
    for (auto at = values.elements * me_ / calls_.size(); at < end; at += count) {
      count = std::min(memory_.piece_elements(), end - at);
      std::ranges::transform(calls_, sources.begin(),
                             [&](const Call& call) { return call.data() + at * size; });
      auto* const sum = of(first).data() + at * size;
      memory_.sum(values.type, sources, sum, count);
      for (int target = first + 1; target < end_rank; ++target)
        move(of(target).data() + at * size, sum, count * size);
    }
  }

  void reduce_scatter() {
    std::vector<const void*> sources(calls_.size());
    std::ranges::transform(calls_, sources.begin(),
                           [&](const Call& call) { return call.part(rank_); });
    const auto& mine = calls_[me_].values;
    memory_.sum(mine.type, sources, mine.data, mine.elements);
  }

  void all_gather() {
    const auto& mine = calls_[me_];
    for (std::size_t other = 0; other < calls_.size(); ++other)
      move(mine.part(static_cast<int>(other)), calls_[other].data(), mine.values.bytes());
  }

  const std::vector<Call>& calls_;
  std::size_t me_;
  int rank_;
  SharedMemory& memory_;
};

} // namespace

Status exchange(const GroupMember& member, const Call& call, SharedMemory& memory) {
  TROUPE_TRY(const auto calls, member.rendezvous->arrive(member.rank, call));
  Work{calls, member.rank, memory}.run();
  auto done = memory.finish();
  // All ranks must have read and written before any continues. After an error, too: only this rank
  // has it.
  member.rendezvous->depart(member.rank, call);
  return done;
}

} // namespace troupe::collectives
