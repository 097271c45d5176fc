#include "actors/membership/planned_changes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

namespace {

bool joins_again(const Member& member) {
  return member.request && member.returns;
}

bool wants_change(const Member& member) {
  return member.leaves || (member.request && !member.returns);
}

} // namespace

void PlannedChanges::ask_if_wanted() {
  const auto& members = participants_.members();
  const bool saves = handover_.is_asked();
  returns_at_.reset();
  if (job_.phase != MembershipPhase::training || job_.ended || was_asked())
    return;
  const bool is_wanted = saves || std::ranges::any_of(members, wants_change);
  if (!is_wanted && std::ranges::none_of(members, joins_again))
    return;
  if (std::ranges::any_of(members, joins_again)) {
    if (!is_wanted && waits_for_returns())
      return;
    returned_ = job_.now;
  }
  asked_in_ = job_.generation->number;
  asked_to_save_ = saves;
  records_.begin_change();
  actions_.add(action::HaltCoordinator{job_.generation->number, saves});
}

/// Whether COORDINATOR was asked before. It is asked again if it has to save, too.
bool PlannedChanges::was_asked() const {
  return asked_in_ == job_.generation->number && (asked_to_save_ || !handover_.is_asked());
}

/// Whether it is too soon after the last halt for nodes that were left out. A node whose links come
/// and go must not delay the others.
bool PlannedChanges::waits_for_returns() {
  if (!returned_ || job_.now >= *returned_ + job_.rules.between_returns)
    return false;
  returns_at_ = *returned_ + job_.rules.between_returns;
  return true;
}

Error PlannedChanges::wanted() const {
  const auto& members = participants_.members();
  const auto leaver = std::ranges::find(members, true, &Member::leaves);
  return {Errc::network, leaver == members.end()
                             ? "another node has joined"
                             : fmt::format("node {} was asked to leave", leaver->address)};
}

} // namespace troupe::actors
