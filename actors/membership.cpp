#include "membership.hpp"

#include "store.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>

namespace troupe::actors {

namespace {

std::string ranks(const NodePlace& place) {
  const auto last = place.first_rank + place.workers - 1;
  return place.workers == 1 ? fmt::format("rank {}", last)
                            : fmt::format("ranks {} to {}", place.first_rank, last);
}

std::string reason(const caf::error& why) {
  // What CAF says when heartbeats are missed, or a connection is closed.
  return why == caf::exit_reason::remote_link_unreachable ? "its connection is lost"
                                                          : caf::to_string(why);
}

} // namespace

MembershipState::MembershipState(membership_actor::pointer self, MembershipSetup setup)
    : self_{self}, setup_{std::move(setup)}, roster_{setup_.min_nodes, setup_.max_nodes},
      store_{self->spawn<store_actor::stateful_impl<StoreState>, caf::linked>()} {}

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
          [this](atom::fetch, std::int32_t index) { return part(index); },
          [this](atom::lead, const coordinator_actor& coordinator) { lead(coordinator); },
          [this](atom::lead) { return leader(); },
          [this](atom::failed, const Error& error) { fail(error); },
          [this](atom::finish, const JobEnd& end) { finish(end); },
          [this](atom::stop) { stop(); },
          [this](atom::status) { return roster_.waiting_for(); }};
}

caf::result<Seat, store_actor> MembershipState::admit(const NodeInfo& info,
                                                      const member_actor& node) {
  const auto admitted = closed_ ? Status{failure(*closed_)} : roster_.admit(info);
  if (!admitted)
    return {Seat{.refused = admitted.error()}, store_};
  self_->monitor(node);
  auto promise = self_->make_response_promise<Seat, store_actor>();
  members_.push_back({info.address, node, promise});
  if (roster_.complete())
    form();
  else
    setup_.say(roster_.waiting_for());
  return promise;
}

void MembershipState::form() {
  generation_ = roster_.generation(1);
  // Worth trying again: a node that fails leaves its place, also to itself once it is back.
  closed_ = Error{Errc::network, "the job has begun, with all its nodes"};
  const auto tensors = setup_.beginning ? std::ssize(setup_.beginning->tensors) : 0;
  for (std::size_t i = 0; i < members_.size(); ++i)
    members_[i].seat.deliver(Seat{.refused = {},
                                  .generation = *generation_,
                                  .node = static_cast<std::int32_t>(i),
                                  .tensors = static_cast<std::int32_t>(tensors)},
                             store_);
}

void MembershipState::refuse_all(const Error& error) {
  closed_ = error;
  for (auto& member : members_)
    member.seat.deliver(Seat{.refused = error}, store_);
  members_.clear();
}

void MembershipState::member_down(const caf::down_msg& down) {
  const auto gone = std::ranges::find_if(
      members_, [&](const Member& member) { return member.node.address() == down.source; });
  if (gone == members_.end() || ended_)
    return;
  if (generation_) {
    const auto& place = generation_->nodes[static_cast<std::size_t>(gone - members_.begin())];
    if (coordinator_)
      self_->send(coordinator_, atom::lost_v, place.address);
    return fail(
        {Errc::network,
         fmt::format("node {} ({}) is gone: {}", place.address, ranks(place), reason(down.reason)),
         {.node = place.address}});
  }
  roster_.remove(gone->address);
  members_.erase(gone);
  setup_.say(roster_.waiting_for());
}

caf::result<CheckpointPart> MembershipState::part(std::int32_t index) const {
  if (!setup_.beginning || index < 0 || index >= std::ssize(setup_.beginning->tensors))
    return caf::make_error(caf::sec::invalid_argument, "there is no such tensor");
  const auto& tensor = setup_.beginning->tensors[static_cast<std::size_t>(index)];
  return CheckpointPart{.step = setup_.beginning->step,
                        .epoch = setup_.beginning->epoch,
                        .name = tensor.name,
                        .shape = tensor.shape,
                        .values = {tensor.values.begin(), tensor.values.end()}};
}

void MembershipState::lead(const coordinator_actor& coordinator) {
  coordinator_ = coordinator;
  setup_.beginning = nullptr; // all have read it: their ranks are connected
  for (auto& follower : followers_)
    follower.deliver(coordinator_);
  followers_.clear();
  if (stopping_)
    self_->send(coordinator_, atom::stop_v);
}

caf::result<coordinator_actor> MembershipState::leader() {
  if (coordinator_)
    return coordinator_;
  return followers_.emplace_back(self_->make_response_promise<coordinator_actor>());
}

void MembershipState::fail(const Error& error) {
  self_->send(store_, atom::failed_v, error); // ranks that wait for it to connect
  if (coordinator_)
    self_->send(coordinator_, atom::failed_v, error);
  else
    finish({.status = "failed", .error = error});
}

void MembershipState::finish(const JobEnd& end) {
  ended_ = true;
  closed_ = end.status == "failed"
                ? Error{Errc::network, "the job has failed, and its nodes end"}
                : Error{Errc::stopped, fmt::format("the job has ended already: {}", end.status)};
  for (const auto& member : members_)
    self_->send(member.node, atom::finish_v, end);
}

void MembershipState::stop() {
  stopping_ = true;
  if (coordinator_)
    self_->send(coordinator_, atom::stop_v);
  else if (!generation_)
    refuse_all({Errc::stopped, "asked to stop before all nodes were there"});
}

} // namespace troupe::actors
