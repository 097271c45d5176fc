#include "actors/membership/entry_checks.hpp"

#include "core/fail.hpp"

#include <algorithm>

namespace troupe::actors {

Status EntryChecks::check(const NodeInfo& info) const {
  if (info.workers == 0)
    return list_.nodes().empty() ? Status{} : list_.check_same_job(info);
  if (!job_.has_begun())
    TROUPE_TRY(list_.check(info));
  else if (!list_.nodes().empty()) // else it will lead
    TROUPE_TRY(list_.check_same_job(info));
  TROUPE_TRY(check_name(info));
  TROUPE_TRY(check_slices(info));
  return job_.has_begun() || !list_.nodes().empty() ? check_data(info) : Status{};
}

/// A name in use is a network error, because the process that has it may turn out to be lost.
Status EntryChecks::check_name(const NodeInfo& info) const {
  const auto has_name = [&](const Spare& spare) { return spare.info.address == info.address; };
  if (participants_.find(info.address) != nullptr ||
      std::ranges::any_of(participants_.spares(), has_name))
    return fail(Errc::network, "{} already takes part in the job", info.address);
  return {};
}

Status EntryChecks::check_slices(const NodeInfo& info) const {
  if (!job_.has_begun() || list_.nodes().empty())
    return {};
  const auto leaders = list_.nodes().front().workers;
  if (const auto slices = job_.generation->slices; leaders + info.workers > slices)
    return fail(Errc::invalid_input,
                "a global batch of {} slices (data.slices) is too small for the leader's {} "
                "workers and {} more",
                slices, leaders, info.workers);
  return {};
}

Status EntryChecks::check_data(const NodeInfo& info) const {
  return MemberList::check_same_data(info, job_.has_begun() ? job_.generation->training
                                                            : list_.nodes().front().training);
}

Error EntryChecks::refusal(const NodeInfo& info) const {
  const auto same =
      job_.has_begun() && !list_.nodes().empty() ? list_.check_same_job(info) : Status{};
  return same ? *job_.closed : same.error();
}

std::optional<Error> EntryChecks::leader_is_behind(const NodeInfo& info) const {
  if (job_.has_begun() || job_.closed || list_.nodes().empty() || info.workers == 0 ||
      check_data(info) || !list_.check_same_job(info))
    return std::nullopt;
  const auto& leader = list_.nodes().front();
  if (info.offer.step <= leader.offer.step && info.offer.parts.empty())
    return std::nullopt;
  return MemberList::check_same_data(leader, info.training).error();
}

} // namespace troupe::actors
