#include "membership.hpp"

#include "carried_error.hpp"

#include "troupe/collectives/tcp/data_plane.hpp"
#include "troupe/core/fail.hpp"

#include <algorithm>

namespace troupe::actors {

namespace {

std::string ranks(const engine::NodePlace& place) {
  const auto last = place.first_rank + place.workers - 1;
  return place.workers == 1 ? fmt::format("rank {}", last)
                            : fmt::format("ranks {} to {}", place.first_rank, last);
}

} // namespace

MembershipState::MembershipState(membership_actor::pointer self, MembershipSetup setup)
    : self_{self}, setup_{std::move(setup)}, lost_{self, setup_.detection}, roster_{
                                                                                setup_.min_nodes,
                                                                                setup_.max_nodes} {}

membership_actor::behavior_type MembershipState::make_behavior() {
  self_->set_down_handler([this](const caf::down_msg& down) { member_down(down); });
  self_->run_delayed(setup_.quorum, [this] {
    if (!generation_)
      refuse_all({Errc::network,
                  fmt::format("{}, not within cluster.timeouts.quorum", roster_.waiting_for())});
  });
  return {[this](atom::join, const NodeInfo& info, const member_actor& node) {
            return admit(info, node);
          },
          [this](atom::fetch) { ++fetched_; },
          [this](atom::lead, const coordinator_actor& coordinator) { lead(coordinator); },
          [this](atom::lead) { return leader(); },
          [this](atom::failed, const Error& error) { return fail(error); },
          [this](atom::finish, const JobEnd& end) { return finish(end); },
          [this](atom::stop) { stop(); },
          [this](atom::status) { return status(); }};
}

caf::result<engine::Seat> MembershipState::admit(const NodeInfo& info, const member_actor& node) {
  const auto admitted = closed_ ? Status{failure(refusal(info))} : roster_.admit(info);
  if (!admitted)
    return engine::Seat{.refused = admitted.error()};
  lost_.watch(node);
  auto promise = self_->make_response_promise<engine::Seat>();
  members_.push_back({info.address, node, promise});
  if (roster_.complete())
    form();
  else
    setup_.say(roster_.waiting_for());
  return promise;
}

/// A person learns more from what is wrong with a node's config than from that it comes too late.
Error MembershipState::refusal(const NodeInfo& info) const {
  const auto same = generation_ ? roster_.check_same_job(info) : Status{};
  return same ? *closed_ : same.error();
}

void MembershipState::form() {
  auto secret = collectives::make_secret();
  if (!secret)
    return refuse_all(secret.error());
  generation_ = roster_.generation(1, *std::move(secret));
  // Joining is worth another try: a node that fails ends the job, whose next attempt has room.
  closed_ = Error{Errc::network, "the job has begun, with all its nodes"};
  for (std::size_t i = 0; i < members_.size(); ++i)
    members_[i].seat.deliver(engine::Seat{.refused = {},
                                          .generation = *generation_,
                                          .node = static_cast<std::int32_t>(i),
                                          .checkpoint_bytes = setup_.checkpoint_bytes,
                                          .shared = setup_.shared});
}

void MembershipState::refuse_all(const Error& error) {
  closed_ = error;
  for (auto& member : members_)
    member.seat.deliver(engine::Seat{.refused = error});
  members_.clear();
}

void MembershipState::member_down(const caf::down_msg& down) {
  const auto gone = std::ranges::find_if(
      members_, [&](const Member& member) { return member.node.address() == down.source; });
  if (gone == members_.end())
    return;
  gone->gone = true;
  if (gone->when_gone)
    gone->when_gone();
  if (ended_ || (unstarted_ && !coordinator_))
    return; // the node knows why it goes
  if (generation_) {
    const auto& place = generation_->nodes[static_cast<std::size_t>(gone - members_.begin())];
    if (coordinator_)
      self_->send(coordinator_, atom::lost_v, place.address);
    std::ignore = fail({Errc::network,
                        fmt::format("node {} ({}) is gone: {}", place.address, ranks(place),
                                    lost_.why(gone->node.node(), down.reason)),
                        {.node = place.address}});
    return;
  }
  roster_.remove(gone->address);
  members_.erase(gone);
  setup_.say(roster_.waiting_for());
}

void MembershipState::lead(const coordinator_actor& coordinator) {
  coordinator_ = coordinator;
  for (auto& follower : followers_)
    follower.deliver(coordinator_);
  followers_.clear();
  if (unstarted_ && std::ranges::any_of(members_, &Member::gone))
    self_->send(coordinator_, atom::failed_v, *unstarted_);
  if (stopping_)
    self_->send(coordinator_, atom::stop_v);
}

caf::result<coordinator_actor> MembershipState::leader() {
  if (coordinator_)
    return coordinator_;
  return followers_.emplace_back(self_->make_response_promise<coordinator_actor>());
}

caf::result<void> MembershipState::fail(const Error& error) {
  if (coordinator_) {
    tell_ranks(error);
    self_->send(coordinator_, atom::failed_v, error);
    return caf::unit;
  }
  if (!unstarted_)
    break_off(error);
  const bool stopped = unstarted_->code == Errc::stopped;
  auto promise = self_->make_response_promise<void>();
  tell_end({.result = {.status = stopped ? "stopped" : "failed"},
            .error = stopped ? std::nullopt : unstarted_},
           [promise]() mutable { promise.deliver(); });
  return promise;
}

/// Called before there is a COORDINATOR.
void MembershipState::break_off(const Error& error) {
  unstarted_ = error;
  tell_ranks(error);
}

/// Those that still wait for others to connect, or for the checkpoint.
void MembershipState::tell_ranks(const Error& error) {
  if (!generation_)
    return;
  for (const auto& member : members_)
    if (!member.gone)
      self_->send(member.node, atom::abort_v, generation_->number, error);
}

/// A node that has not answered within the detection timeout learns it from its lost connection.
void MembershipState::tell_end(const JobEnd& end, const std::function<void()>& told) {
  ended_ = true;
  closed_ =
      end.result.status == "failed"
          ? Error{Errc::network, "the job has failed, and its nodes end"}
          : Error{Errc::stopped, fmt::format("the job has ended already: {}", end.result.status)};
  const auto open =
      std::make_shared<std::ptrdiff_t>(std::ranges::count(members_, false, &Member::gone));
  const auto answered = [open, told] {
    if (--*open == 0)
      told();
  };
  for (auto& member : members_) {
    if (member.gone)
      continue;
    const auto once = [answered, is_open = std::make_shared<bool>(true)] {
      if (std::exchange(*is_open, false))
        answered();
    };
    member.when_gone = once;
    self_->request(member.node, setup_.detection, atom::finish_v, end)
        .then(once, [once](const caf::error&) { once(); });
  }
  if (*open == 0)
    told();
}

caf::result<void> MembershipState::finish(const JobEnd& end) {
  auto promise = self_->make_response_promise<void>();
  tell_end(end, [promise]() mutable { promise.deliver(); });
  return promise;
}

void MembershipState::stop() {
  stopping_ = true;
  if (coordinator_)
    self_->send(coordinator_, atom::stop_v);
  else if (!generation_)
    refuse_all({Errc::stopped, "asked to stop before all nodes were there"});
  else if (members_.size() > 1)
    break_off({Errc::stopped, "asked to stop before all nodes were connected"});
}

std::string MembershipState::status() const {
  if (generation_ && setup_.checkpoint_bytes > 0 && !coordinator_ && members_.size() > 1)
    return fmt::format("sending the checkpoint: {} of {} nodes have it", fetched_, members_.size());
  return roster_.waiting_for();
}

} // namespace troupe::actors
