#include "actors/membership/records.hpp"

#include "core/fail.hpp"

#include <algorithm>

namespace troupe::actors {

void Records::note_loss(const std::string& reason, std::chrono::milliseconds detected_after) {
  if (change_.is_loss)
    return;
  begin_change();
  change_ = {.reason = reason,
             .is_loss = true,
             .detect = std::chrono::duration<double>{detected_after}.count()};
}

void Records::succeed(const Error& lost) {
  change_ = {.reason = lost.message, .is_loss = lost.code != Errc::stopped};
  begin_change();
}

Status Records::propose_next() {
  TROUPE_TRY(auto record, next_record());
  const auto& nodes = participants_.list().nodes();
  shared_ = nodes[static_cast<std::size_t>(record.source)].offer.shared;
  proposal_ = PendingRecord{std::move(record)};
  if (job_.rules.has_voters)
    actions_.add(action::Propose{proposal_->record});
  return {};
}

Result<training::GenerationRecord> Records::next_record() {
  TROUPE_TRY(auto secret, job_.rules.make_secret());
  const auto& list = participants_.list();
  const auto slices =
      job_.has_begun() ? job_.generation->slices : job_.rules.slices(total_workers(list.nodes()));
  auto record = list.generation(next_number(), std::move(secret), slices);
  record.training = job_.has_begun() ? job_.generation->training : list.nodes().front().training;
  record.job =
      job_.has_begun() ? job_.generation->job : record.secret.substr(0, record.secret.size() / 2);
  if (writer_.empty() || list.nodes().front().has_lost_folder)
    writer_ = fmt::format("{}-{}", record.number, list.nodes().front().process.substr(0, 8));
  record.writer = writer_;
  participants_.name_voters(record);
  record.change = change_;
  if (!change_.reason.empty())
    record.change.halt = std::chrono::duration<double>{job_.now - changing_}.count();
  if (const auto lost = list.lost(record); !lost.empty()) {
    actions_.say(lost);
    record.change.reason += (change_.reason.empty() ? "" : "; ") + lost;
  }
  return record;
}

/// Numbers are above all that any of the nodes has had.
std::int64_t Records::next_number() const {
  auto last = job_.has_begun() ? job_.generation->number : 0;
  for (const auto& node : participants_.list().nodes())
    last = std::max(last, node.generation);
  return last + 1;
}

void Records::revise(const JobEnd* end) {
  if (!may_revise(end))
    return;
  auto record = *job_.generation;
  ++record.revision;
  if (end != nullptr) {
    record.end = *end;
  } else {
    participants_.name_voters(record);
    if (!is_revised(record))
      return;
  }
  proposal_ = PendingRecord{std::move(record), /*is_revision=*/true};
  actions_.add(action::Propose{proposal_->record});
}

bool Records::may_revise(const JobEnd* end) const {
  const bool runs =
      job_.phase == MembershipPhase::connecting || job_.phase == MembershipPhase::training;
  return job_.rules.has_voters && job_.has_begun() && !is_pending() &&
         (end != nullptr || (runs && !job_.ended));
}

/// Whether voters or spares differ from those of the last record, and of the last refused one.
bool Records::is_revised(const training::GenerationRecord& record) const {
  const auto has_same = [&](const training::GenerationRecord& other) {
    return record.voters == other.voters && record.spares == other.spares;
  };
  const bool is_refused = refused_ && refused_->order() == record.order() && has_same(*refused_);
  return !has_same(*job_.generation) && !is_refused;
}

bool Records::proposes(const std::string& address) const {
  return proposal_ && !proposal_->is_revision &&
         std::ranges::count(proposal_->record.nodes, address, &training::MemberInfo::address) > 0;
}

PendingRecord Records::take() {
  auto proposal = *std::exchange(proposal_, std::nullopt);
  if (!proposal.is_revision)
    change_ = {};
  return proposal;
}

void Records::assign() {
  const auto& record = *job_.generation;
  for (std::size_t i = 0; i < record.nodes.size(); ++i) {
    auto* member = participants_.find(record.nodes[i].address);
    if (member == nullptr || !member->request)
      continue; // it was lost meanwhile
    actions_.assign(member->request, {.refused = {},
                                      .generation = record,
                                      .node = static_cast<std::int32_t>(i),
                                      .shared = shared_});
    member->returns = false;
  }
}

void Records::tell_waiting() {
  for (const auto node : participants_.waiting())
    actions_.add(action::Learn{node, *job_.generation});
}

void Records::tell_members() {
  for (const auto& member : participants_.members())
    actions_.add(action::Learn{member.id, *job_.generation});
}

} // namespace troupe::actors
