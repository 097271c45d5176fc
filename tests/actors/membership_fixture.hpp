/// Membership with simulated daemons, a COORDINATOR and voters: no actors, no threads, no real
/// time.
#pragma once

#include "actors/membership/membership.hpp"
#include "collectives/data_plane/data_plane.hpp"
#include "tests/actors/messages_in_flight.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace troupe::actors::test {

using namespace std::chrono_literals;

/// Links between daemons that cannot be established, one way: from, to.
using Cuts = std::set<std::pair<std::string, std::string>>;

/// A daemon's NODE: asks to join, and records the messages that it receives.
struct JoinContext {
  std::optional<training::NodeAssignment> assignment;
  std::optional<JobEnd> end;
  std::optional<Error> aborted; ///< why its ranks will not be connected
  std::optional<Error> halted;  ///< why a generation ended
  StateOffer offer = {};        ///< offered when it joins again after a halt
  bool is_stuck = false;        ///< does not join again after a halt
  bool waits = false;           ///< for an assignment
  std::int64_t waits_since = 0; ///< number of the last generation reported to it
  std::size_t voters = 0;       ///< how many that generation has
  bool takes_leader_for_dead = false;
  bool slow = false;                   ///< answers a second after it receives the end
  std::vector<BrokenLink> broken = {}; ///< links that it reports as broken when it probes
  bool is_silent = false;              ///< never answers a probe
  std::vector<ProbeOrder> probes = {};

  // For the simulation.
  int number = 0;
  NodeInfo info = {};
  bool leads_itself = false; ///< has a COORDINATOR as soon as it becomes the leader
  bool is_dead = false;
  std::int64_t halted_generation = 0; ///< number of the last generation that ended
};
using DaemonPtr = std::shared_ptr<JoinContext>;

/// Messages that the COORDINATOR received.
struct Told {
  std::optional<Error> ending;
  int stops = 0, halts = 0, saves = 0;
};

/// A request to Membership.
struct Asked {
  bool is_answered = false;
  std::optional<Error> refused = {};
};
using AskedPtr = std::shared_ptr<Asked>;

/// Shortest time between two halts that let left-out nodes return.
inline constexpr auto between_returns = 10s;
/// Time limit for nodes to assemble a generation.
inline constexpr auto rejoin = 20s;
inline constexpr auto quorum = 60s;

struct Cluster {
  /// `decides`: voters decide records, asynchronously.
  explicit Cluster(std::int32_t min_nodes, std::int32_t max_nodes = 0, bool decides = false,
                   std::int64_t group = 1, std::chrono::milliseconds stable = 0ms)
      : rules{
            .min_nodes = min_nodes,
            .max_nodes = std::max(min_nodes, max_nodes),
            .timeouts = {.detection = 5s, .rejoin = rejoin, .quorum = quorum, .admission = stable},
            .probe = 5s,
            .between_returns = between_returns,
            .slices = [](std::int64_t) { return 12; },
            .make_secret = collectives::make_secret,
            .groups = {group, "parallel.shard_group"},
            .has_voters = decides} {
    begin();
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// Replaces the Membership by one with the present rules.
  void begin() { membership = std::make_unique<Membership>(rules, now), act(); }

  // Daemons.

  /// Starts a daemon; its request arrives when messages are delivered.
  DaemonPtr start(const std::string& address, const std::map<std::string, std::string>& job = {},
                  std::int32_t workers = 1, std::chrono::milliseconds time_left = 0ms) {
    return start(NodeInfo{.address = address,
                          .data = address,
                          .host = {},
                          .version = "1",
                          .workers = workers,
                          .job = job,
                          .time_left_ms = time_left.count()});
  }
  DaemonPtr start(NodeInfo info) {
    const auto daemon = std::make_shared<JoinContext>();
    if (info.process.empty())
      info.process = std::to_string(++processes);
    daemons[info.address] = daemon;
    daemon->number = ++last_number;
    daemon->info = std::move(info);
    daemon->leads_itself = has_coordinator;
    handles[NodeId{daemon->number}] = daemon;
    ids[daemon->number] = NodeId{daemon->number};
    ask_to_join(daemon);
    return daemon;
  }
  DaemonPtr join(const std::string& address, const std::map<std::string, std::string>& job = {},
                 std::int32_t workers = 1) {
    const auto daemon = start(address, job, workers);
    run();
    return daemon;
  }
  void kill(const std::string& address) {
    lose(daemons.at(address), "it was killed");
    run();
  }
  void lose(const DaemonPtr& daemon, const std::string& why) {
    daemon->is_dead = true;
    tell_down(daemon, why);
  }
  /// Breaks the link to a daemon that stays alive.
  void cut_off(const std::string& address) {
    tell_down(daemons.at(address), "its connection was closed");
    run();
  }
  /// Lets a daemon that was stuck when this generation was halted join again.
  void come_again(const std::string& address, std::int64_t generation) {
    halt(daemons.at(address), generation, {});
    run();
  }
  /// Lets a daemon that was refused ask again.
  void ask_again(const std::string& address) {
    come_again(address, training::NodeAssignment{}.generation.number);
  }
  /// Cuts the link in both directions.
  void cut(const std::string& one, const std::string& other) {
    cuts.insert({one, other});
    cuts.insert({other, one});
  }
  /// Sends a request in the name of a daemon, which does not know of it.
  std::optional<training::NodeAssignment> replay(const NodeInfo& info) {
    std::optional<training::NodeAssignment> got;
    const RequestId id{++last_request};
    joins[id] = [&got](const training::NodeAssignment& assignment) { got = assignment; };
    membership->join(id, id_of(*daemons.at(info.address)), info, now);
    act();
    run();
    return got;
  }

  // Messages of COORDINATOR and of the leader.

  void lead() {
    has_coordinator = true;
    begin_training();
    run();
  }
  AskedPtr report(std::int64_t generation, const Error& error) {
    return report(generation, SharedFailure{error});
  }
  AskedPtr report(std::int64_t generation, const SharedFailure& failure) {
    return ask([&](RequestId id) { membership->failed(id, generation, failure, now); });
  }
  AskedPtr finish(const JobEnd& end) {
    return ask([&](RequestId id) { membership->finish(id, end, now); });
  }
  AskedPtr ask_to_leave(const std::string& address, bool waits = false) {
    const auto node = id_of(*daemons.at(address));
    return ask([&](RequestId id) { membership->leave(id, node, waits, now); });
  }
  /// Asks to leave. Returns the reason for a refusal.
  std::optional<Error> leave(const std::string& address, bool waits = false) {
    return ask_to_leave(address, waits)->refused;
  }
  void stop() {
    tell([&] { membership->stop(now); });
  }
  void withdraw(const std::string& address) {
    tell([&] { membership->withdraw(id_of(*daemons.at(address)), now); });
  }

  /// Returns what this node waits for.
  std::string status(const std::string& address) { return wait(address).what; }
  WaitStatus wait(const std::string& address) const {
    return membership->status(id_of(*daemons.at(address)), now);
  }

  // Time.

  void run() {
    while (!messages.empty())
      messages.deliver_first();
  }
  std::optional<Time> next_timer() const {
    auto next = membership->next_wake();
    if (!timers.empty() && (!next || timers.begin()->first < *next))
      next = timers.begin()->first;
    return is_over ? std::nullopt : next;
  }
  /// Lets the next timer expire. Returns false if there is none.
  bool expire_next() {
    const auto next = next_timer();
    if (!next)
      return false;
    now = std::max(now, *next);
    while (!timers.empty() && timers.begin()->first <= now)
      timers.extract(timers.begin()).mapped()();
    membership->wake(now);
    act();
    return true;
  }
  void pass(std::chrono::milliseconds time) {
    const auto end = now + time;
    for (auto next = next_timer(); next && *next <= end; next = next_timer()) {
      expire_next();
      run();
    }
    now = end;
    run();
  }

  // The simulation.

  static constexpr int itself = 0, coordinator = -1, voters = -2;

  template <class Event>
  AskedPtr ask(Event event) {
    const auto asked = std::make_shared<Asked>();
    const RequestId id{++last_request};
    requests[id] = [asked](const std::optional<Error>& refused) { *asked = {true, refused}; };
    tell([&] { event(id); });
    return asked;
  }
  template <class Event>
  void tell(Event event) {
    if (is_over)
      return;
    event();
    act();
    if (runs_at_once)
      run();
  }
  /// Whether the daemon's last request is not answered yet.
  bool is_pending(const JoinContext& daemon) const {
    const auto request = last_join.find(daemon.number);
    return request != last_join.end() && joins.contains(request->second);
  }
  NodeId id_of(const JoinContext& daemon) const { return ids.at(daemon.number); }
  void send(const JoinContext& from, std::function<void()> deliver) {
    messages.send(from.number, itself, [this, deliver = std::move(deliver)] {
      if (is_over)
        return;
      deliver();
      act();
    });
  }
  /// A daemon that is dead does not receive the message.
  void send_to(
      NodeId node, std::function<void(const DaemonPtr&)> deliver,
      std::function<void()> is_lost = [] {}) {
    const auto daemon = handles.at(node);
    messages.send(itself, daemon->number,
                  [daemon, deliver = std::move(deliver), is_lost = std::move(is_lost)] {
                    daemon->is_dead ? is_lost() : deliver(daemon);
                  });
  }
  void ask_to_join(const DaemonPtr& daemon) {
    daemon->waits = true;
    ++daemon->info.attempt;
    send(*daemon, [this, daemon, info = daemon->info] { receive_join(daemon, info); });
  }
  /// As MEMBERSHIP does, gives a node that Membership has forgotten another id.
  void receive_join(const DaemonPtr& daemon, const NodeInfo& info) {
    auto& node = ids[daemon->number];
    if (!membership->knows(node))
      node = NodeId{++last_number};
    handles[node] = daemon;
    const RequestId id{++last_request};
    last_join[daemon->number] = id;
    joins[id] = [this, daemon, attempt = info.attempt](const training::NodeAssignment& assignment) {
      messages.send(itself, daemon->number, [this, daemon, attempt, assignment] {
        if (!daemon->is_dead && attempt == daemon->info.attempt)
          take_assignment(daemon, assignment);
      });
    };
    membership->join(id, node, info, now);
  }
  void take_assignment(const DaemonPtr& daemon, const training::NodeAssignment& assignment) {
    daemon->waits = false;
    daemon->assignment = assignment;
    if (!daemon->leads_itself || assignment.refused)
      return;
    if (assignment.leads())
      send(*daemon, [this] { begin_training(); });
    else
      send(*daemon, [this, daemon, number = assignment.generation.number] {
        if (!trains)
          followers.push_back({daemon, number});
      });
  }
  void begin_training() {
    if (is_over || !membership->begin_training(now))
      return;
    trains = true;
    followers.clear();
    act();
  }
  void halt(const DaemonPtr& daemon, std::int64_t generation, const Error& reason) {
    if (!daemon->assignment || generation != daemon->assignment->generation.number)
      return;
    daemon->halted = reason;
    daemon->halted_generation = generation;
    daemon->info.offer = daemon->offer;
    if (!daemon->is_stuck)
      ask_to_join(daemon);
  }
  void tell_down(const DaemonPtr& daemon, const std::string& why) {
    const auto node = id_of(*daemon);
    send(*daemon, [this, daemon, node, why] {
      for (auto& [probe, to] : std::exchange(silent[daemon->number], {}))
        membership->probed(probe, to, std::nullopt, now);
      membership->node_down(node, why, 0ms, now);
    });
  }

  void act() {
    for (auto actions = membership->take_actions(); !actions.empty();
         actions = membership->take_actions())
      for (const auto& action : actions) {
        if (observe)
          observe(action);
        std::visit([this](const auto& each) { carry_out(each); }, action);
      }
  }
  void carry_out(const action::Assign& assign) {
    joins.extract(assign.request).mapped()(assign.assignment);
  }
  void carry_out(const action::Answer& answer) {
    requests.extract(answer.request).mapped()(answer.refused);
  }
  void carry_out(const action::Halt& it) {
    send_to(it.node,
            [this, it](const DaemonPtr& daemon) { halt(daemon, it.generation, it.reason); });
  }
  void carry_out(const action::Abort& it) {
    send_to(it.node, [it](const DaemonPtr& daemon) {
      if (daemon->assignment && it.generation == daemon->assignment->generation.number)
        daemon->aborted = it.error;
    });
  }
  void carry_out(const action::Learn& it) {
    send_to(it.node, [it](const DaemonPtr& daemon) {
      daemon->waits_since = it.record.number;
      daemon->voters = it.record.voters.size();
    });
  }
  void carry_out(const action::Finish& it) {
    const std::function<void()> heard = [this, node = it.node] {
      if (!is_over)
        membership->heard_end(node, now), act();
    };
    send_to(
        it.node,
        [this, it, heard](const DaemonPtr& daemon) {
          daemon->end = it.end;
          if (it.answers && daemon->slow)
            timers.emplace(now + 1s, heard);
          else if (it.answers)
            send(*daemon, heard);
        },
        it.answers ? heard : std::function<void()>{[] {}});
  }
  void carry_out(const action::Probe& it) {
    const auto answer = [this, it](const std::optional<std::vector<BrokenLink>>& broken) {
      if (!is_over)
        membership->probed(it.probe, it.node, broken, now), act();
    };
    timers.emplace(now + it.limit, [answer] { answer(std::nullopt); });
    send_to(
        it.node,
        [this, it, answer](const DaemonPtr& daemon) {
          daemon->probes.push_back(it.order);
          if (daemon->is_silent)
            silent[daemon->number].emplace_back(it.probe, it.node);
          else
            send(*daemon, [answer, broken = probe(*daemon, it.order)] { answer(broken); });
        },
        [answer] { answer(std::nullopt); });
  }
  std::vector<BrokenLink> probe(const JoinContext& daemon, const ProbeOrder& order) const {
    auto broken = daemon.broken;
    for (const auto& to : order.to)
      if (cuts.contains({daemon.info.address, to.node}))
        broken.push_back({daemon.info.address, to.node, "no connection within 5s"});
    return broken;
  }
  void carry_out(const action::Propose& it) {
    proposals.push_back(it.record);
    ++open_proposals;
    if (!voters_are_silent)
      messages.send(voters, itself, [this] { decide(); });
  }
  void decide() {
    --open_proposals;
    if (!is_over)
      membership->decided(refuses_records, now), act();
  }
  void carry_out(const action::Announce&) { ++announcements; }
  void carry_out(const action::HaltCoordinator& it) {
    ++told->halts;
    told->saves += it.saves ? 1 : 0;
    messages.send(coordinator, itself, [this, it] {
      if (!is_over)
        membership->coordinator_halted(it.generation, now), act();
    });
  }
  void carry_out(const action::StopCoordinator& it) {
    if (it.reason.code == Errc::stopped)
      ++told->stops;
    else
      told->ending = it.reason;
  }
  /// The reason of the halt was sent to its followers first.
  void carry_out(const action::ForgetCoordinator&) {
    trains = false;
    for (const auto& [daemon, number] : std::exchange(followers, {}))
      messages.send(itself, daemon->number, [daemon = daemon, number = number] {
        daemon->takes_leader_for_dead |=
            !daemon->is_dead && number > daemon->halted_generation && !daemon->end;
      });
  }
  void carry_out(const action::Say& it) { said.push_back(it.line); }
  void carry_out(const action::Quit&) { is_over = true; }

  MembershipRules rules;
  Time now = Time{} + 1h;
  std::unique_ptr<Membership> membership;
  Messages messages;
  std::multimap<Time, std::function<void()>> timers;
  std::map<std::string, DaemonPtr> daemons; ///< by address; the last that started
  std::map<NodeId, DaemonPtr> handles;
  std::map<int, NodeId> ids; ///< by number
  std::map<RequestId, std::function<void(const training::NodeAssignment&)>> joins;
  std::map<int, RequestId> last_join; ///< by number
  std::map<RequestId, std::function<void(const std::optional<Error>&)>> requests;
  std::map<int, std::vector<std::pair<std::int64_t, NodeId>>> silent; ///< unanswered probes
  std::vector<std::pair<DaemonPtr, std::int64_t>> followers;          ///< wait for the COORDINATOR
  std::vector<training::GenerationRecord> proposals;
  bool voters_are_silent = false;            ///< they never answer
  std::optional<Error> refuses_records = {}; ///< why the voters refuse each record
  int open_proposals = 0;
  std::function<void(const Action&)> observe = {};
  Cuts cuts;
  std::vector<std::string> said;
  std::shared_ptr<Told> told = std::make_shared<Told>();
  bool has_coordinator = false, trains = false;
  bool is_over = false;     ///< Membership has ended
  bool runs_at_once = true; ///< messages are delivered before a call returns
  int processes = 0, announcements = 0, last_number = 0;
  std::int64_t last_request = 0;
};

} // namespace troupe::actors::test
