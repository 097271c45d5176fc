#include "membership.hpp"

#include "carried_error.hpp"

#include "troupe/collectives/tcp/data_plane.hpp"
#include "troupe/core/fail.hpp"

#include <algorithm>

namespace troupe::actors {

MembershipState::MembershipState(membership_actor::pointer self, MembershipSetup setup)
    : self_{self}, setup_{std::move(setup)}, lost_{self, setup_.detection}, roster_{
                                                                                setup_.min_nodes,
                                                                                setup_.max_nodes} {}

membership_actor::behavior_type MembershipState::make_behavior() {
  self_->set_down_handler([this](const caf::down_msg& down) { member_down(down); });
  gather();
  return {[this](atom::join, const NodeInfo& info, const member_actor& node) {
            return admit(info, node);
          },
          [this](atom::begin) { return has_begun() ? generation_->slices : 0; },
          [this](atom::fetch) { ++fetched_; },
          [this](atom::lead, const coordinator_actor& coordinator) { lead(coordinator); },
          [this](atom::lead) { return leader(); },
          [this](atom::failed, std::int64_t generation, const Error& error) {
            return fail(generation, error);
          },
          [this](atom::finish, const JobEnd& end) { return finish(end); },
          [this](atom::stop) { stop(); },
          [this](atom::status) { return status(); }};
}

/// From now on nodes are waited for, but not for ever.
void MembershipState::gather() {
  phase_ = Phase::gathering;
  self_->run_delayed(setup_.quorum, [this, next = has_begun() ? generation_->number + 1 : 1] {
    gathered_for(next);
  });
}

void MembershipState::gathered_for(std::int64_t generation) {
  if (phase_ != Phase::gathering || ended_ ||
      generation != (has_begun() ? generation_->number + 1 : 1))
    return;
  Error error{Errc::network,
              fmt::format("{}, not within cluster.timeouts.quorum", roster_.waiting_for())};
  if (!has_begun())
    return refuse_all(error);
  for (const auto& absent : std::set{roster_.absent()})
    if (const auto member = find(absent); member != members_.end())
      dismiss(member, {Errc::network,
                       "it has not come together with the others again within "
                       "cluster.timeouts.quorum",
                       {.node = absent}});
  if (!roster_.has_enough())
    ending_ = std::move(error);
  form();
}

caf::result<engine::Seat> MembershipState::admit(const NodeInfo& info, const member_actor& node) {
  const auto known = find(info.address);
  const bool again = known != members_.end() && known->node == node;
  const auto admitted = closed_       ? Status{failure(refusal(info))}
                        : again       ? Status{}
                        : has_begun() ? admit_another(info)
                                      : roster_.admit(info);
  if (!admitted)
    return engine::Seat{.refused = admitted.error()};
  auto promise = self_->make_response_promise<engine::Seat>();
  if (again) {
    roster_.come_again(info);
    known->seat = promise;
  } else {
    lost_.watch(node);
    members_.push_back({info.address, node, promise});
  }
  if (phase_ == Phase::training)
    make_room();
  form_if_complete();
  if (phase_ == Phase::gathering && !roster_.has_enough())
    setup_.say(roster_.waiting_for());
  return promise;
}

/// What stands against it may change: a place becomes free, or one of its name is found to be dead.
Status MembershipState::admit_another(const NodeInfo& info) {
  TROUPE_TRY(roster_.check_same_job(info));
  if (find(info.address) != members_.end())
    return troupe::fail(Errc::network, "{} takes part already", info.address);
  if (std::ssize(members_) >= setup_.max_nodes)
    return troupe::fail(Errc::network, "the job has begun, with all its nodes");
  if (roster_.workers() + info.workers > generation_->slices)
    return troupe::fail(Errc::network,
                        "there are {} workers already, and {} slices of a global batch "
                        "(data.slices), which {} more would be too many for",
                        roster_.workers(), generation_->slices, info.workers);
  return roster_.admit(info);
}

MembershipState::Members::iterator MembershipState::find(std::string_view address) {
  return std::ranges::find(members_, address, &Member::address);
}

/// A person learns more from what is wrong with a node's config than from that it comes too late.
Error MembershipState::refusal(const NodeInfo& info) const {
  const auto same = has_begun() ? roster_.check_same_job(info) : Status{};
  return same ? *closed_ : same.error();
}

void MembershipState::form_if_complete() {
  const bool saves = has_begun() && stopping_; // what there is
  if (phase_ == Phase::gathering && roster_.absent().empty() && (roster_.has_enough() || saves))
    form();
}

void MembershipState::form() {
  auto secret = collectives::make_secret();
  if (!secret)
    return refuse_all(secret.error());
  const auto slices = has_begun() ? generation_->slices : setup_.slices(roster_.workers());
  const auto before = has_begun() ? generation_->step : 0;
  generation_ =
      roster_.generation(has_begun() ? generation_->number + 1 : 1, *std::move(secret), slices);
  if (generation_->step > before)
    unexplained_ = 0;
  change_.halt =
      std::chrono::duration<double>{std::chrono::steady_clock::now() - changing_}.count();
  generation_->change = std::exchange(change_, {});
  phase_ = Phase::connecting;
  fetched_ = 0;
  const auto& shared = roster_.offer(*generation_).shared;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    members_[i].seat->deliver(engine::Seat{.refused = {},
                                           .generation = *generation_,
                                           .node = static_cast<std::int32_t>(i),
                                           .shared = shared});
    members_[i].seat.reset();
  }
}

void MembershipState::refuse_all(const Error& error) {
  closed_ = error;
  for (auto& member : members_)
    if (member.seat)
      member.seat->deliver(engine::Seat{.refused = error});
  members_.clear();
}

void MembershipState::lead(const coordinator_actor& coordinator) {
  if (phase_ != Phase::connecting)
    return; // it has been halted since
  phase_ = Phase::training;
  coordinator_ = coordinator;
  for (auto& follower : followers_)
    follower.deliver(coordinator_);
  followers_.clear();
  if (ending_)
    self_->send(coordinator_, atom::stop_v, *ending_);
  if (stopping_)
    self_->send(coordinator_, atom::stop_v);
  if (std::ranges::any_of(members_, [](const Member& member) { return member.seat.has_value(); }))
    make_room();
}

caf::result<coordinator_actor> MembershipState::leader() {
  if (coordinator_)
    return coordinator_;
  return followers_.emplace_back(self_->make_response_promise<coordinator_actor>());
}

/// Those that still wait for others to connect, or for the checkpoint.
void MembershipState::tell_ranks(const Error& error) {
  if (!has_begun())
    return;
  for (const auto& member : members_)
    self_->send(member.node, atom::abort_v, generation_->number, error);
}

/// A node that has not answered within the detection timeout learns it from its lost connection.
void MembershipState::tell_end(const JobEnd& end, const std::function<void()>& told) {
  ended_ = true;
  closed_ =
      end.result.status == "failed"
          ? Error{Errc::network, "the job has failed, and its nodes end"}
          : Error{Errc::stopped, fmt::format("the job has ended already: {}", end.result.status)};
  const auto open = std::make_shared<std::ptrdiff_t>(std::ssize(members_));
  const auto answered = [open, told] {
    if (--*open == 0)
      told();
  };
  for (auto& member : members_) {
    if (member.seat)
      member.seat->deliver(engine::Seat{.refused = *closed_});
    const auto once = [answered, is_open = std::make_shared<bool>(true)] {
      if (std::exchange(*is_open, false))
        answered();
    };
    member.when_gone = once;
    self_->request(member.node, setup_.detection, atom::finish_v, end)
        .then(once, [once](const caf::error&) { once(); });
  }
  if (members_.empty())
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
  else if (!has_begun())
    refuse_all({Errc::stopped, "asked to stop before all nodes were there"});
  else if (phase_ == Phase::gathering)
    form_if_complete();
  else if (generation_->number == 1 && phase_ == Phase::connecting && members_.size() > 1) {
    unstarted_ = {Errc::stopped, "asked to stop before all nodes were connected"};
    tell_ranks(*unstarted_);
  }
}

std::string MembershipState::status() const {
  if (phase_ == Phase::connecting && fetched_ < generation_->lacking())
    return fmt::format("sending the checkpoint: {} of {} nodes have it", fetched_,
                       generation_->lacking());
  return roster_.waiting_for();
}

} // namespace troupe::actors
