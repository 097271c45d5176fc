#include "group.hpp"

#include "runtime/memory.hpp"
#include "runtime/settings.hpp"

#include <cstring>

namespace emulation::nccl {

namespace {

/// A rank reads the others' memory, whichever device that is of.
class AllAccess {
public:
  AllAccess() {
    for (int device = 0; device < settings().devices; ++device)
      each_.push_back(std::make_unique<DeviceAccess>(device));
  }

private:
  std::vector<std::unique_ptr<DeviceAccess>> each_;
};

} // namespace

ncclResult_t Group::join(const std::shared_ptr<Communicator>& member) {
  const std::lock_guard lock{mutex_};
  if (!members_[static_cast<std::size_t>(member->rank)].expired())
    return ncclInvalidUsage;
  for (const auto& other : members_)
    if (const auto there = other.lock(); there && there->device == member->device)
      return ncclInvalidUsage;
  members_[static_cast<std::size_t>(member->rank)] = member;
  ++joined_;
  return ncclSuccess;
}

bool Group::complete() const {
  const std::lock_guard lock{mutex_};
  return joined_ == members_.size();
}

Group::MeetingPtr Group::open(Communicator& member, const Operation& operation) {
  const bool sends = operation.kind == Kind::send;
  const Key key = operation.collective() ? Key{-1, -1, member.collectives++}
                                         : Key{sends ? member.rank : operation.peer,
                                               sends ? operation.peer : member.rank,
                                               member.messages[{operation.peer, sends}]++};
  const auto meeting = meetings_.try_emplace(key, std::make_shared<Meeting>()).first->second;
  if (operation.collective() && !meeting->came.empty() &&
      !meeting->came.begin()->second.fits(operation))
    member.failure = ncclInvalidUsage; // NCCL would mix memory, or hang
  // A message to itself is both ends of a meeting.
  meeting->came[sends || operation.collective() ? member.rank : -1 - member.rank] = operation;
  if (const auto needed = operation.collective() ? members_.size() : 2;
      meeting->came.size() == needed)
    meetings_.erase(key);
  changed_.notify_all();
  return meeting;
}

void Group::run_collective(Communicator& member, const Operation& operation, Meeting& meeting) {
  std::unique_lock lock{mutex_};
  if (!wait(lock, member, [&] { return meeting.came.size() == members_.size(); }))
    return;
  lock.unlock();
  const AllAccess access;
  const auto result = result_of(meeting.came, member.rank);
  lock.lock();
  ++meeting.computed;
  changed_.notify_all();
  if (!wait(lock, member, [&] { return meeting.computed == members_.size(); }))
    return;
  if (!result.empty())
    std::memcpy(operation.to, result.data(), result.size());
}

void Group::finish(Communicator& member, const Operation& operation, Meeting& meeting) {
  if (operation.collective())
    return run_collective(member, operation, meeting);
  std::unique_lock lock{mutex_};
  if (operation.kind == Kind::receive) {
    if (!wait(lock, member, [&] { return meeting.came.size() == 2; }))
      return;
    const AllAccess access;
    std::memcpy(operation.to, meeting.came.at(operation.peer).from,
                operation.count * size_of(operation.type));
    meeting.done = 1;
    changed_.notify_all();
  } else {
    wait(lock, member, [&] { return meeting.done == 1; });
  }
}

void Group::run(Communicator& member, const std::vector<Operation>& operations) {
  std::vector<MeetingPtr> meetings;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& operation : operations)
      meetings.push_back(open(member, operation));
  }
  // What a group of calls sends waits for nobody's receives in front of it.
  for (const bool sends : {false, true})
    for (std::size_t i = 0; i < operations.size(); ++i)
      if ((operations[i].kind == Kind::send) == sends)
        finish(member, operations[i], *meetings[i]);
}

void Group::abort(Communicator& member) {
  const std::lock_guard lock{mutex_};
  member.aborted = true;
  changed_.notify_all();
}

} // namespace emulation::nccl
