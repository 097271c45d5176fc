#include "membership.hpp"

#include "carried_error.hpp"

#include "troupe/collectives/tcp/data_plane.hpp"
#include "troupe/core/fail.hpp"

#include <algorithm>

namespace troupe::actors {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

double in_seconds(Clock::duration duration) {
  return std::chrono::duration<double>{duration}.count();
}

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
  generation_ =
      roster_.generation(has_begun() ? generation_->number + 1 : 1, *std::move(secret), slices);
  change_.halt = in_seconds(Clock::now() - changing_);
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

/// The generation is over: all that have a seat in it come for another.
void MembershipState::halt(const Error& reason, bool is_loss,
                           std::chrono::milliseconds detected_after) {
  if (phase_ == Phase::gathering)
    return form_if_complete();
  if (is_loss)
    changing_ = Clock::now();
  change_ = {.reason = reason.message, .is_loss = is_loss, .detect = in_seconds(detected_after)};
  coordinator_ = nullptr;
  followers_.clear();
  for (const auto& member : members_) {
    if (member.seat)
      continue; // it has come since
    roster_.await(member.address);
    self_->send(member.node, atom::halt_v, generation_->number, reason);
  }
  gather();
}

/// For who has come while all train: between two steps.
void MembershipState::make_room() {
  changing_ = Clock::now();
  self_->request(coordinator_, caf::infinite, atom::halt_v)
      .then(
          [this, number = generation_->number] {
            if (phase_ == Phase::training && generation_->number == number)
              halt({Errc::network, "another node has come"}, false);
          },
          [](const caf::error&) {}); // it is over in any case
}

void MembershipState::member_down(const caf::down_msg& down) {
  const auto gone = std::ranges::find_if(
      members_, [&](const Member& member) { return member.node.address() == down.source; });
  if (gone == members_.end())
    return;
  if (ended_ || unstarted_) // the node knows why it goes
    return forget(gone);
  const auto why = lost_.why(gone->node.node(), down.reason);
  const bool waits = gone->seat.has_value();
  const auto address = gone->address;
  if (!has_begun() || waits) {
    forget(gone);
    setup_.say(has_begun() ? fmt::format("node {} is gone: {}", address, why)
                           : roster_.waiting_for());
    return form_if_complete();
  }
  const auto place = std::ranges::find(generation_->nodes, address, &engine::NodePlace::address);
  const Error error{Errc::network,
                    fmt::format("node {} ({}) is gone: {}", address, ranks(*place), why),
                    {.node = address}};
  setup_.say(error.message);
  unexplained_ = 0;
  const auto detected_after = lost_.was_silent(gone->node.node()) ? setup_.detection : 0ms;
  dismiss(gone, error);
  halt(error, true, detected_after);
}

void MembershipState::forget(Members::iterator member) {
  roster_.remove(member->address);
  const auto told = std::move(member->when_gone);
  members_.erase(member);
  if (told)
    told();
}

/// The others go on without it. Should it live, it is told so.
void MembershipState::dismiss(Members::iterator member, const Error& error) {
  self_->send(member->node, atom::finish_v, JobEnd{.result = {.status = "failed"}, .error = error});
  self_->demonitor(member->node);
  forget(member);
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

caf::result<void> MembershipState::fail(std::int64_t generation, const Error& error) {
  const bool halted =
      has_begun() && generation == generation_->number && phase_ == Phase::gathering;
  if (halted || ended_ || (generation > 0 && generation < generation_->number))
    return caf::unit; // of what is over already
  if (goes_on_after(error))
    return caf::unit;
  if (coordinator_)
    return carry(error); // which ends the job
  if (!unstarted_) {
    unstarted_ = error;
    tell_ranks(error);
  }
  const bool stopped = unstarted_->code == Errc::stopped;
  auto promise = self_->make_response_promise<void>();
  tell_end({.result = {.status = stopped ? "stopped" : "failed"},
            .error = stopped ? std::nullopt : unstarted_},
           [promise]() mutable { promise.deliver(); });
  return promise;
}

/// Before anything was trained, what a node cannot do is what a person has to mend. Later one that
/// has failed is left behind; where nobody knows which one that is, all try again, but not for
/// ever.
bool MembershipState::goes_on_after(const Error& error) {
  if (!has_begun() || (generation_->number == 1 && phase_ == Phase::connecting))
    return false;
  constexpr int most_unexplained = 3;
  if (error.code == Errc::collective) {
    if (++unexplained_ > most_unexplained)
      return false;
    halt(error, true);
    return true;
  }
  const auto member = find(error.where.node);
  if (member == members_.end() || member == members_.begin())
    return false;
  setup_.say(error.to_string());
  dismiss(member, error);
  halt(error, true);
  return true;
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
