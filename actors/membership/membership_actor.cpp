#include "actors/membership/membership_actor.hpp"

#include "actors/caf_error.hpp"

namespace troupe::actors {

MembershipState::MembershipState(membership_actor::pointer self, MembershipSetup setup)
    : self_{self}, setup_{std::move(setup)}, lost_{self, setup_.rules.timeouts.detection},
      membership_{setup_.rules, self->clock().now()} {}

membership_actor::behavior_type MembershipState::make_behavior() {
  self_->set_down_handler([this](const caf::down_msg& down) { lose(down); });
  on([](Time) {});
  return {[this](atom::join, const NodeInfo& info, const member_actor& node) {
            return join(info, node);
          },
          [this](atom::begin) { return membership_.slices(); },
          [this](atom::fetch) { membership_.state_received(); },
          [this](atom::lead, const coordinator_actor& coordinator) { lead(coordinator); },
          [this](atom::follow) { return leader(); },
          [this](atom::failed, std::int64_t generation, const SharedFailure& failure) {
            return request(requests_, [&](auto id, Time now) {
              membership_.failed(id, generation, failure, now);
            });
          },
          [this](atom::finish, const JobEnd& end) {
            return request(requests_, [&](auto id, Time now) { membership_.finish(id, end, now); });
          },
          [this](atom::stop, const member_actor& node, StopReason reason) {
            return stop(node, reason);
          },
          [this](atom::status, const member_actor& node) {
            return membership_.status(id_of(node), self_->clock().now());
          }};
}

/// Lets Membership handle an event, and carries out its actions.
template <class Event>
void MembershipState::on(Event event) {
  event(self_->clock().now());
  for (auto actions = membership_.take_actions(); !actions.empty();
       actions = membership_.take_actions())
    for (auto& action : actions)
      carry_out(action);
  forget_unknown();
  plan_wake();
}

template <class Answer, class Event>
caf::typed_response_promise<Answer> MembershipState::request(Promises<Answer>& pending,
                                                             Event event) {
  auto promise = self_->make_response_promise<Answer>();
  const RequestId id{++last_request_};
  pending.emplace(id, promise);
  on([&](Time now) { event(id, now); });
  return promise;
}

caf::result<training::NodeAssignment> MembershipState::join(const NodeInfo& info,
                                                            const member_actor& node) {
  if (!node)
    return no_handle();
  return request(joins_, [&](RequestId request, Time now) {
    const auto known = id_of(node);
    const bool is_new = known == NodeId{};
    const auto id = is_new ? NodeId{++last_node_} : known;
    nodes_.emplace(id, node);
    membership_.join(request, id, info, now);
    if (is_new && membership_.knows(id))
      lost_.watch(node);
  });
}

caf::result<void> MembershipState::stop(const member_actor& node, StopReason reason) {
  const bool waits = reason == StopReason::signal;
  if (waits || reason == StopReason::node)
    return request(requests_,
                   [&](auto id, Time now) { membership_.leave(id, id_of(node), waits, now); });
  on([&](Time now) {
    reason == StopReason::job ? membership_.stop(now) : membership_.withdraw(id_of(node), now);
  });
  return caf::unit;
}

void MembershipState::lead(const coordinator_actor& coordinator) {
  on([&](Time now) {
    if (!membership_.begin_training(now))
      return;
    coordinator_ = coordinator;
    for (auto& follower : std::exchange(followers_, {}))
      follower.deliver(coordinator_);
  });
}

caf::result<coordinator_actor> MembershipState::leader() {
  if (coordinator_)
    return coordinator_;
  return followers_.emplace_back(self_->make_response_promise<coordinator_actor>());
}

void MembershipState::lose(const caf::down_msg& down) {
  const auto id = id_of(down.source);
  if (id == NodeId{})
    return;
  nodes_.erase(id);
  const auto host = down.source.node();
  const auto silent =
      lost_.was_silent(host) ? setup_.rules.timeouts.detection : std::chrono::milliseconds{};
  on([&](Time now) { membership_.node_down(id, lost_.why(host, down.reason), silent, now); });
}

/// An earlier wake-up that is no longer needed does no harm.
void MembershipState::plan_wake() {
  const auto next = membership_.next_wake();
  if (!next || (wakes_at_ && *wakes_at_ <= *next))
    return;
  wakes_at_ = next;
  self_->run_delayed(*next - self_->clock().now(), [this, at = *next] {
    if (wakes_at_ != at)
      return;
    wakes_at_.reset();
    on([this](Time now) { membership_.wake(now); });
  });
}

/// Returns 0 if the node is unknown.
NodeId MembershipState::id_of(const caf::actor_addr& node) const {
  for (const auto& [id, handle] : nodes_)
    if (handle.address() == node)
      return id;
  return {};
}

NodeId MembershipState::id_of(const member_actor& node) const {
  return node ? id_of(node.address()) : NodeId{};
}

/// Returns null if the node is unknown.
member_actor MembershipState::handle_of(NodeId node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? member_actor{} : found->second;
}

void MembershipState::forget_unknown() {
  std::erase_if(nodes_, [this](const auto& node) {
    const bool is_known = membership_.knows(node.first);
    if (!is_known)
      self_->demonitor(node.second);
    return !is_known;
  });
}

template <class... Message>
void MembershipState::send(NodeId node, Message&&... message) {
  if (const auto handle = handle_of(node))
    self_->send(handle, std::forward<Message>(message)...);
}

namespace {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

} // namespace

void MembershipState::carry_out(Action& action) {
  using namespace action;
  std::visit(
      Overloaded{
          [this](Assign& to) { joins_.extract(to.request).mapped().deliver(to.assignment); },
          [this](Answer& to) {
            auto promise = requests_.extract(to.request).mapped();
            to.refused ? promise.deliver(to_caf_error(*to.refused)) : promise.deliver();
          },
          [this](Halt& it) { send(it.node, atom::halt_v, it.generation, it.reason); },
          [this](Abort& it) { send(it.node, atom::abort_v, it.generation, it.error); },
          [this](Learn& it) { send(it.node, atom::decided_v, it.record); },
          [this](Finish& it) { it.answers ? finish(it) : send(it.node, atom::finish_v, it.end); },
          [this](Probe& it) { ask_for_links(it); }, [this](Propose& it) { propose(it.record); },
          [this](Announce&) { self_->send(setup_.consensus, atom::gather_v); },
          [this](HaltCoordinator& it) { halt_coordinator(it); },
          [this](StopCoordinator& it) { self_->send(coordinator_, atom::stop_v, it.reason); },
          [this](ForgetCoordinator&) {
            coordinator_ = nullptr;
            followers_.clear();
          },
          [this](Say& it) { setup_.say(it.line); },
          [this](Quit&) { self_->quit(caf::exit_reason::user_shutdown); }},
      action);
}

void MembershipState::finish(const action::Finish& finish) {
  const auto heard = [this, node = finish.node] {
    on([&](Time now) { membership_.heard_end(node, now); });
  };
  self_
      ->request(handle_of(finish.node), setup_.rules.timeouts.detection, atom::finish_v, finish.end)
      .then(heard, [heard](const caf::error&) { heard(); });
}

void MembershipState::ask_for_links(const action::Probe& probe) {
  using Answer = std::optional<std::vector<BrokenLink>>;
  const auto answered = [this, number = probe.probe, node = probe.node](const Answer& broken) {
    on([&](Time now) { membership_.probed(number, node, broken, now); });
  };
  self_->request(handle_of(probe.node), probe.limit, atom::probe_v, probe.order)
      .then([answered](const std::vector<BrokenLink>& broken) { answered(broken); },
            [answered](const caf::error&) { answered({}); });
}

void MembershipState::propose(const training::GenerationRecord& record) {
  const auto decided = [this](const std::optional<Error>& refused) {
    on([&](Time now) { membership_.decided(refused, now); });
  };
  self_->request(setup_.consensus, caf::infinite, atom::propose_v, record)
      .then([decided] { decided({}); },
            [decided](const caf::error& error) {
              decided(from_caf_error(error, {Errc::network, "the consensus actor died"}));
            });
}

void MembershipState::halt_coordinator(const action::HaltCoordinator& halt) {
  const auto halted = [this, number = halt.generation] {
    on([&](Time now) { membership_.coordinator_halted(number, now); });
  };
  self_->request(coordinator_, caf::infinite, atom::halt_v, halt.saves)
      .then(halted, [](const caf::error&) {}); // the generation is over in any case
}

} // namespace troupe::actors
