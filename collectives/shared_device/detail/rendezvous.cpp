#include "collectives/shared_device/detail/rendezvous.hpp"

#include "core/fail.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace troupe::collectives {

Result<std::vector<Call>> Rendezvous::arrive(int rank, const Call& call) {
  std::unique_lock lock{mutex_};
  if (aborted_)
    return aborted(rank);
  const auto pending = open(rank, call);
  if (auto same = check_same(*pending, rank, call); !same)
    return give_up(rank, std::move(same).error().message);
  pending->calls[static_cast<std::size_t>(rank)] = call;
  if (++pending->arrived == pending->needed.size())
    changed_.notify_all();
  const bool over = changed_.wait_for(lock, timeout_, [&] {
    return pending->complete() || aborted_ || !missing(*pending, true).empty();
  });
  if (!pending->complete()) {
    if (aborted_)
      return aborted(rank);
    if (over)
      return give_up(rank, fmt::format("{}: rank {} left", call.name(),
                                       fmt::join(missing(*pending, true), ", ")));
    return give_up(rank, fmt::format("{} timed out after {} ms: rank {} did not join", call.name(),
                                     timeout_.count(), fmt::join(missing(*pending, false), ", ")));
  }
  std::vector<Call> calls;
  for (const auto& each : pending->calls)
    calls.push_back(each.value_or(Call{}));
  return calls;
}

void Rendezvous::depart(int rank, const Call& call) {
  std::unique_lock lock{mutex_};
  const auto pending = pending_calls_.find(key_of(rank, call))->second;
  if (++pending->departed == pending->needed.size())
    changed_.notify_all();
  changed_.wait(lock, [&] { return pending->departed == pending->needed.size(); });
  pending_calls_.erase(key_of(rank, call));
}

void Rendezvous::leave(int rank) {
  const std::lock_guard lock{mutex_};
  left_[static_cast<std::size_t>(rank)] = true;
  changed_.notify_all();
}

void Rendezvous::abort(const Error& reason) {
  const std::lock_guard lock{mutex_};
  if (!aborted_)
    aborted_ = reason;
  changed_.notify_all();
}

Rendezvous::Key Rendezvous::key_of(int rank, const Call& call) {
  if (!call.pairwise())
    return {-1, -1, call.sequence};
  const bool sends = call.kind == CallKind::send;
  return {sends ? rank : call.peer, sends ? call.peer : rank, call.sequence};
}

std::shared_ptr<Rendezvous::PendingCall> Rendezvous::open(int rank, const Call& call) {
  auto& pending = pending_calls_[key_of(rank, call)];
  if (pending)
    return pending;
  pending = std::make_shared<PendingCall>();
  pending->calls.resize(left_.size());
  if (call.pairwise()) {
    pending->needed = {rank, call.peer};
  } else {
    pending->needed.resize(left_.size());
    std::iota(pending->needed.begin(), pending->needed.end(), 0);
  }
  return pending;
}

Status Rendezvous::check_same(const PendingCall& pending, int rank, const Call& call) {
  const auto describe = [](const Call& c) {
    return fmt::format("{} of {} {}", c.name(), c.values.elements, to_string(c.values.type));
  };
  for (const int other : pending.needed) {
    const auto& theirs = pending.calls[static_cast<std::size_t>(other)];
    if (!theirs || other == rank)
      continue;
    const bool same_kind = call.pairwise() ? theirs->kind != call.kind
                                           : theirs->kind == call.kind && theirs->peer == call.peer;
    if (!same_kind || theirs->values.elements != call.values.elements ||
        theirs->values.type != call.values.type)
      return fail(Errc::collective, "{} does not match {} of rank {}", describe(call),
                  describe(*theirs), other);
  }
  return {};
}

std::vector<int> Rendezvous::missing(const PendingCall& pending, bool only_those_who_left) const {
  std::vector<int> ranks;
  std::ranges::copy_if(pending.needed, std::back_inserter(ranks), [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    return !pending.calls[index] && (!only_those_who_left || left_[index]);
  });
  return ranks;
}

tl::unexpected<Error> Rendezvous::give_up(int rank, std::string message) {
  aborted_ = Error{Errc::collective, std::move(message)};
  changed_.notify_all();
  return aborted(rank);
}

tl::unexpected<Error> Rendezvous::aborted(int rank) const {
  auto error = *aborted_;
  error.where.rank = rank;
  return failure(std::move(error));
}

} // namespace troupe::collectives
