// Revisions of a generation's record, for which no node halts: other voters, or the job's end.
#include "actors/membership/membership.hpp"
#include "actors/membership/voters.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::actors {

namespace {

std::vector<training::Voter> voters_of(const std::vector<training::MemberInfo>& nodes) {
  std::vector<training::Voter> voters;
  voters.reserve(nodes.size());
  for (const auto& place : nodes)
    voters.push_back({place.address, place.process});
  return voters;
}

} // namespace

/// Returns the voters of a generation with these nodes.
std::vector<training::Voter>
MembershipState::voters(const std::vector<training::MemberInfo>& nodes) const {
  const auto of = [](const Spares& those) {
    std::vector<training::Voter> voters;
    for (const auto& waiting : those)
      voters.push_back({waiting.info.address, waiting.info.process});
    return voters;
  };
  return choose_voters(voters_of(nodes), of(witnesses_), of(spares_));
}

std::vector<std::string> MembershipState::spare_addresses() const {
  std::vector<std::string> addresses;
  for (const auto& spare : spares_)
    addresses.push_back(spare.info.address);
  return addresses;
}

bool MembershipState::may_revise() const {
  if (!setup_.consensus || !has_begun() || revision_)
    return false;
  return ending_job_ || (!ended_ && (phase_ == Phase::connecting || phase_ == Phase::training));
}

/// Proposes a revision if voters, spares or the end of the job have changed. Only one at a time,
/// because the voters of each decide the next.
void MembershipState::revise() {
  if (!may_revise())
    return;
  auto record = *generation_;
  ++record.revision;
  if (ending_job_) {
    record.end = ending_job_->end;
  } else {
    record.voters = voters(record.nodes);
    record.spares = spare_addresses();
    if (record.voters == generation_->voters && record.spares == generation_->spares)
      return;
  }
  revision_ = std::move(record);
  self_->request(setup_.consensus, caf::infinite, atom::propose_v, *revision_)
      .then([this] { settle_revision(true); },
            [this](const caf::error&) { settle_revision(false); }); // another node leads the job
}

void MembershipState::settle_revision(bool is_decided) {
  const auto record = *std::exchange(revision_, std::nullopt);
  if (is_decided)
    generation_ = record;
  if (record.end || (ended_ && !ending_job_))
    return tell_decided_end();
  if (is_decided && !ended_)
    tell_revision();
  if (is_decided)
    revise();
  form_when_revised();
}

void MembershipState::tell_revision() {
  for (const auto& member : members_)
    self_->send(member.node, atom::decided_v, *generation_);
  for (const auto* those : {&spares_, &witnesses_})
    for (const auto& waiting : *those)
      self_->send(waiting.member.node, atom::decided_v, *generation_);
}

/// Builds the next generation if it waited for the revision, which its record has to follow.
void MembershipState::form_when_revised() {
  if (!std::exchange(forms_next_, false) || phase_ != Phase::gathering || ended_)
    return;
  ending_ ? form() : form_if_complete();
}

/// Has the voters decide the end, so that it is not lost with the leader. If they do not answer in
/// time, or there are no others, the nodes end anyway.
void MembershipState::end_job(const JobEnd& end, const std::function<void()>& told) {
  const bool decides = setup_.consensus && has_begun() && !ended_ && phase_ != Phase::deciding &&
                       generation_->voters.size() > 1;
  if (!decides)
    return tell_end(end, told);
  ended_ = true; // nodes that end from now on are not lost
  closed_ = Error{Errc::network, "the job is about to end"};
  ending_job_ = {end, told};
  self_->run_delayed(setup_.timeouts.detection, [this] { tell_decided_end(); });
  revise();
}

void MembershipState::tell_decided_end() {
  if (const auto ending = std::exchange(ending_job_, std::nullopt))
    tell_end(ending->end, ending->told);
}

} // namespace troupe::actors
