#include "actors/membership/membership.hpp"

#include "actors/caf_error.hpp"
#include "collectives/data_plane/data_plane.hpp"
#include "core/fail.hpp"

#include <algorithm>

namespace troupe::actors {

MembershipState::MembershipState(membership_actor::pointer self, MembershipSetup setup)
    : self_{self}, setup_{std::move(setup)}, lost_{self, setup_.timeouts.detection},
      member_list_{setup_.min_nodes} {}

membership_actor::behavior_type MembershipState::make_behavior() {
  self_->set_down_handler([this](const caf::down_msg& down) { member_down(down); });
  if (setup_.before)
    inherit();
  gather();
  return {[this](atom::join, const NodeInfo& info, const member_actor& node) {
            return admit(info, node);
          },
          [this](atom::begin) { return has_begun() ? generation_->slices : 0; },
          [this](atom::fetch) { ++fetched_; },
          [this](atom::lead, const coordinator_actor& coordinator) { lead(coordinator); },
          [this](atom::lead) { return leader(); },
          [this](atom::failed, std::int64_t generation, const Error& error) {
            return fail(generation, {error});
          },
          [this](atom::failed, std::int64_t generation, const SharedFailure& failure) {
            return fail(generation, failure);
          },
          [this](atom::finish, const JobEnd& end) { return finish(end); },
          [this](atom::stop) { stop(); },
          [this](atom::leave, const member_actor& node, bool waits) { return leave(node, waits); },
          [this](atom::status, const member_actor& node) { return status(node); },
          [this](atom::abort, const member_actor& node) { withdraw(node); }};
}

/// Begins to wait for nodes, within the limits `form` and `quorum`.
void MembershipState::gather() {
  phase_ = Phase::gathering;
  gathering_ = self_->clock().now();
  ++rounds_;
  confirmed_.clear();
  if (has_begun())
    self_->run_delayed(setup_.timeouts.rejoin, [this, round = rounds_] { await_again(round); });
  self_->run_delayed(setup_.timeouts.quorum, [this, round = rounds_] { await_enough(round); });
  admit_proven();
}

bool MembershipState::gathers_for(std::int64_t round) const {
  return phase_ == Phase::gathering && !ended_ && round == rounds_;
}

/// Dismisses nodes that have not joined again in time, except the leader.
void MembershipState::await_again(std::int64_t round) {
  if (!gathers_for(round))
    return;
  for (const auto& absent : std::set{member_list_.absent()}) {
    const auto member = find(absent);
    if (member == members_.begin() || member == members_.end())
      continue;
    const Error error{
        Errc::network,
        fmt::format("node {} has not rejoined within cluster.timeouts.rejoin", absent),
        {.node = absent}};
    setup_.say(error.message);
    dismiss(member, failed_end(error));
  }
  form_if_complete();
}

void MembershipState::await_enough(std::int64_t round) {
  if (!gathers_for(round))
    return;
  Error error{Errc::network,
              fmt::format("{}; gave up after cluster.timeouts.quorum", waiting_for())};
  if (!has_begun())
    return refuse_all(error);
  if (revision_)
    return give_up_deciding();
  if (!member_list_.absent().empty())
    return end_job(failed_end(error), [] {});
  ending_ = std::move(error);
  form();
}

void MembershipState::form_if_complete() {
  check_leavers();
  const bool saves = has_begun() && stopping_; // a job that ends saves with any number of nodes
  if (phase_ != Phase::gathering || !member_list_.absent().empty() || probes_links())
    return;
  fill_after_leader();
  if ((has_enough() || saves) && !confirms_newcomers())
    form();
}

void MembershipState::form() {
  forms_next_ = revision_.has_value();
  if (forms_next_)
    return;
  fill_after_leader();
  regroup();
  auto record = next_record();
  if (!record)
    return refuse_all(record.error());
  phase_ = Phase::deciding;
  suspicion_.reset();
  proposed_ = *std::move(record);
  shared_ = member_list_.offer(*proposed_).shared;
  changed_.reset();
  if (!setup_.consensus)
    return decided();
  decide(*proposed_);
}

void MembershipState::assign_members() {
  for (std::size_t i = 0; i < generation_->nodes.size(); ++i) {
    const auto member = find(generation_->nodes[i].address);
    if (member == members_.end() || !member->assignment)
      continue; // it was lost meanwhile
    member->assignment->deliver(training::NodeAssignment{.refused = {},
                                                         .generation = *generation_,
                                                         .node = static_cast<std::int32_t>(i),
                                                         .shared = shared_});
    member->assignment.reset();
    member->returns = false;
  }
  for (const auto* those : {&spares_, &witnesses_})
    for (const auto& waiting : *those)
      self_->send(waiting.member.node, atom::decided_v, *generation_);
}

void MembershipState::refuse_all(const Error& error) {
  closed_ = error;
  keep_leader(error);
  for (auto& member : members_)
    if (member.assignment)
      member.assignment->deliver(training::NodeAssignment{.refused = error});
  members_.clear();
  refuse_spares(error);
}

void MembershipState::lead(const coordinator_actor& coordinator) {
  if (phase_ != Phase::connecting)
    return; // it was halted meanwhile
  phase_ = Phase::training;
  trained_ = true;
  coordinator_ = coordinator;
  for (auto& follower : followers_)
    follower.deliver(coordinator_);
  followers_.clear();
  if (ending_)
    self_->send(coordinator_, atom::stop_v, *ending_);
  if (stopping_)
    self_->send(coordinator_, atom::stop_v);
  revise();
  change_when_wanted();
}

caf::result<coordinator_actor> MembershipState::leader() {
  if (coordinator_)
    return coordinator_;
  return followers_.emplace_back(self_->make_response_promise<coordinator_actor>());
}

/// Cancels the waits of ranks for others to connect, or for the checkpoint.
void MembershipState::tell_ranks(const Error& error) {
  if (!has_begun())
    return;
  for (const auto& member : members_)
    self_->send(member.node, atom::abort_v, generation_->number, error);
}

/// Tells all nodes that the job has ended. A node that does not answer within the detection timeout
/// learns it from its lost connection.
void MembershipState::tell_end(const JobEnd& end, const std::function<void()>& told) {
  ended_ = true;
  closed_ =
      end.result.status == "failed"
          ? Error{Errc::network, "the job has failed, and its nodes are shutting down"}
          : Error{Errc::stopped, fmt::format("the job has ended already: {}", end.result.status)};
  keep_leader(*closed_);
  const auto open = std::make_shared<std::size_t>(members_.size() + spares_.size() +
                                                  witnesses_.size() + entrants_.size());
  const auto answered = [open, told] {
    if (--*open == 0)
      told();
  };
  for (auto& member : members_) {
    if (member.assignment)
      member.assignment->deliver(training::NodeAssignment{.refused = *closed_});
    const auto once = [answered, is_open = std::make_shared<bool>(true)] {
      if (std::exchange(*is_open, false))
        answered();
    };
    member.when_gone = once;
    self_->request(member.node, setup_.timeouts.detection, atom::finish_v, end)
        .then(once, [once](const caf::error&) { once(); });
  }
  const bool is_open = *open > 0;
  for (const auto* those : {&spares_, &witnesses_, &entrants_})
    for (const auto& waiting : *those)
      self_->request(waiting.member.node, setup_.timeouts.detection, atom::finish_v, end)
          .then(answered, [answered](const caf::error&) { answered(); });
  refuse_spares(*closed_);
  for (const auto& [process, node] : left_out_)
    self_->send(node, atom::finish_v, end);
  if (!is_open)
    told();
}

caf::result<void> MembershipState::finish(const JobEnd& end) {
  auto promise = self_->make_response_promise<void>();
  end_job(end, [promise]() mutable { promise.deliver(); });
  return promise;
}

void MembershipState::stop() {
  stopping_ = true;
  if (coordinator_)
    self_->send(coordinator_, atom::stop_v);
  else if (!has_begun())
    refuse_all({Errc::stopped, "asked to stop before all nodes had joined"});
  else if (phase_ == Phase::gathering)
    form_if_complete();
  else if (generation_->is_first() && phase_ == Phase::connecting && members_.size() > 1) {
    unstarted_ = {Errc::stopped, "asked to stop before all nodes were connected"};
    tell_ranks(*unstarted_);
  }
}

} // namespace troupe::actors
