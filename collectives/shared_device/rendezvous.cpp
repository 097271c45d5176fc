#include "rendezvous.hpp"

#include "troupe/core/fail.hpp"

#include <fmt/ranges.h>

#include <string_view>

namespace troupe::collectives {

Result<std::vector<float*>> Rendezvous::meet(int rank, const Operation& operation) {
  std::unique_lock lock{mutex_};
  if (aborted_)
    return failure(*aborted_);
  if (auto same = check_same(rank, operation); !same) {
    aborted_ = same.error();
    changed_.notify_all();
    return failure(*aborted_);
  }
  operations_[static_cast<std::size_t>(rank)] = operation;
  present_[static_cast<std::size_t>(rank)] = true;
  if (++arrived_ == world_size()) {
    published_.clear();
    for (const auto& each : operations_)
      published_.push_back(each.values);
    present_.assign(present_.size(), false);
    arrived_ = 0;
    ++meeting_;
    changed_.notify_all();
    return published_;
  }
  const auto meeting = meeting_;
  const bool done =
      changed_.wait_for(lock, timeout_, [&] { return aborted_ || meeting_ != meeting; });
  // Who waited for this meeting has met, even if somebody aborts the next one meanwhile.
  if (meeting_ != meeting)
    return published_;
  if (!done)
    aborted_ =
        Error{Errc::collective,
              fmt::format("{} #{} timed out after {} ms: rank {} did not come", operation.name,
                          operation.sequence, timeout_.count(), missing_ranks()),
              {.rank = rank}};
  changed_.notify_all();
  return failure(*aborted_);
}

void Rendezvous::abort(const Error& reason) {
  const std::lock_guard lock{mutex_};
  if (!aborted_)
    aborted_ = reason;
  changed_.notify_all();
}

Status Rendezvous::check_same(int rank, const Operation& operation) const {
  for (std::size_t other = 0; other < present_.size(); ++other) {
    const auto& theirs = operations_[other];
    if (present_[other] &&
        (std::string_view{theirs.name} != operation.name || theirs.sequence != operation.sequence ||
         theirs.elements != operation.elements))
      return failure(Error{Errc::collective,
                           fmt::format("{} #{} of {} elements met {} #{} of {} elements of rank {}",
                                       operation.name, operation.sequence, operation.elements,
                                       theirs.name, theirs.sequence, theirs.elements, other),
                           {.rank = rank}});
  }
  return {};
}

std::string Rendezvous::missing_ranks() const {
  std::vector<std::size_t> missing;
  for (std::size_t rank = 0; rank < present_.size(); ++rank)
    if (!present_[rank])
      missing.push_back(rank);
  return fmt::format("{}", fmt::join(missing, ", "));
}

} // namespace troupe::collectives
