#include "tests/emulation/nccl/local_group.hpp"

#include <algorithm>
#include <set>

namespace emulation::nccl {

bool LocalGroup::has_rank(int rank) const {
  return std::ranges::any_of(seats_,
                             [&](const auto& seat) { return seat.second.place.rank == rank; });
}

bool LocalGroup::one_gpu_each() const {
  std::set<int> gpus;
  for (const auto& [member, seat] : seats_)
    gpus.insert(seat.place.gpu);
  return gpus.size() == seats_.size();
}

void LocalGroup::join(const std::shared_ptr<Member>& member, const Place& place) {
  const std::lock_guard lock{mutex_};
  if (lost_ || has_rank(place.rank))
    return member->fail(lost_ ? ncclRemoteError : ncclInvalidUsage);
  seats_[member.get()] = {member, place};
  if (++joined_ < size_)
    return;
  const bool distinct = one_gpu_each();
  for (const auto& [key, seat] : seats_)
    distinct ? seat.member->complete() : seat.member->fail(ncclInvalidUsage);
}

LocalGroup::Key LocalGroup::next_key(Seat& seat, const Operation& operation) {
  if (operation.collective())
    return {-1, -1, seat.collectives++};
  const bool sends = operation.kind == Kind::send;
  const int rank = seat.place.rank, peer = operation.peer;
  return {sends ? rank : peer, sends ? peer : rank, seat.messages[{peer, sends}]++};
}

void LocalGroup::bring(const Member& member, std::uint64_t ticket, Contribution contribution) {
  const std::lock_guard lock{mutex_};
  const auto found = seats_.find(&member);
  if (found == seats_.end())
    return;
  auto& seat = found->second;
  const auto operation = contribution.operation;
  const auto key = next_key(seat, operation);
  auto& meeting = meetings_[key];
  meeting[operation.collective() ? seat.place.rank : operation.kind == Kind::receive] = {
      seat.member, ticket, std::move(contribution)};
  if (!all_fit(meeting, operation))
    for (const auto& [rank, arrival] : meeting)
      arrival.member->fail(ncclInvalidUsage);
  else if (meeting.size() == needed(operation))
    finish(std::move(meetings_.extract(key).mapped()));
}

bool LocalGroup::all_fit(const Meeting& meeting, const Operation& operation) {
  return std::ranges::all_of(meeting, [&](const auto& arrival) {
    return arrival.second.contribution.operation.fits(operation);
  });
}

void LocalGroup::finish(Meeting meeting) {
  std::vector<Contribution> brought;
  for (auto& [rank, arrival] : meeting)
    brought.push_back(std::move(arrival.contribution));
  const auto results = results_of(brought);
  auto result = results.begin();
  for (const auto& [rank, arrival] : meeting)
    arrival.member->answer(arrival.ticket, *result++);
}

/// Also removes the member's contributions to pending operations: these never complete.
bool LocalGroup::remove(const Member& member) {
  for (auto& [key, meeting] : meetings_)
    std::erase_if(meeting,
                  [&](const auto& arrival) { return arrival.second.member.get() == &member; });
  return seats_.erase(&member) > 0;
}

void LocalGroup::leave(const Member& member) {
  const std::lock_guard lock{mutex_};
  remove(member);
}

void LocalGroup::lose(const Member& member) {
  const std::lock_guard lock{mutex_};
  if (!remove(member))
    return; // it left before
  lost_ = true;
  for (const auto& [other, seat] : seats_)
    seat.member->fail(ncclRemoteError);
}

} // namespace emulation::nccl
