/// MEMBERSHIP with daemons and a COORDINATOR that record the messages that they receive.
#pragma once

#include "actors/caf_error.hpp"
#include "actors/membership/membership.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/stub_roles.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::actors::test {

using namespace std::chrono_literals;

/// Links between daemons that cannot be established, one way: from, to.
using Cuts = std::set<std::pair<std::string, std::string>>;

/// Stands in for a daemon's NODE: asks MEMBERSHIP to join and records the replies.
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
};

struct DaemonStub {
  static inline const char* name = "daemon_stub";
  DaemonStub(member_actor::pointer stub, membership_actor asked, NodeInfo its_info,
             std::shared_ptr<JoinContext> seen_by, std::shared_ptr<const Cuts> missing,
             coordinator_actor coordinator = {})
      : self{stub}, membership{std::move(asked)}, info{std::move(its_info)},
        seen{std::move(seen_by)}, cuts{std::move(missing)}, leads_with{std::move(coordinator)} {}
  void join() {
    seen->waits = true;
    ++info.attempt;
    self->request(membership, caf::infinite, atom::join_v, info, member_actor{self})
        .then([this](const training::NodeAssignment& assignment) {
          seen->waits = false;
          seen->assignment = assignment;
          if (leads_with && !assignment.refused)
            assignment.leads() ? self->send(membership, atom::lead_v, leads_with) : follow();
        });
  }
  void follow() {
    self->request(membership, caf::infinite, atom::lead_v)
        .then([](const coordinator_actor&) {},
              [this, number = seen->assignment->generation.number](const caf::error&) {
                if (number > halted && !seen->end)
                  seen->takes_leader_for_dead = true;
              });
  }
  member_actor::behavior_type make_behavior() {
    join();
    return {[this](atom::finish, const JobEnd& end) -> caf::result<void> {
              seen->end = end;
              if (!seen->slow)
                return caf::unit;
              auto answer = self->make_response_promise<void>();
              self->run_delayed(1s, [answer]() mutable { answer.deliver(); });
              return answer;
            },
            [this](atom::abort, std::int64_t generation, const Error& error) {
              if (generation == seen->assignment->generation.number)
                seen->aborted = error;
            },
            [this](atom::halt, std::int64_t generation, const Error& reason) {
              if (generation != seen->assignment->generation.number)
                return;
              seen->halted = reason;
              halted = generation;
              info.offer = seen->offer;
              if (!seen->is_stuck)
                join();
            },
            [this](atom::decided, const training::GenerationRecord& record) {
              seen->waits_since = record.number;
              seen->voters = record.voters.size();
            },
            [this](atom::probe, const ProbeOrder& order) -> caf::result<std::vector<BrokenLink>> {
              seen->probes.push_back(order);
              if (seen->is_silent)
                return unanswered.emplace_back(
                    self->make_response_promise<std::vector<BrokenLink>>());
              return probe(order);
            }};
  }
  std::vector<BrokenLink> probe(const ProbeOrder& order) const {
    auto broken = seen->broken;
    for (const auto& to : order.to)
      if (cuts->contains({info.address, to.node}))
        broken.push_back({info.address, to.node, "no connection within 5s"});
    return broken;
  }
  member_actor::pointer self;
  membership_actor membership;
  NodeInfo info;
  std::shared_ptr<JoinContext> seen;
  std::shared_ptr<const Cuts> cuts;
  coordinator_actor leads_with =
      {}; ///< when set, registers this COORDINATOR as soon as it becomes the leader
  std::int64_t halted = 0; ///< number of the last generation that ended
  std::vector<caf::typed_response_promise<std::vector<BrokenLink>>> unanswered = {};
};

/// Messages that the COORDINATOR received.
struct Told {
  std::vector<Error> failures;
  std::optional<Error> ending;
  int stops = 0, halts = 0, saves = 0;
};

/// Shortest time between two halts that let left-out nodes return.
inline constexpr auto between_returns = 10s;
/// Time limit for nodes to assemble a generation.
inline constexpr auto rejoin = 20s;

struct Cluster : Deterministic {
  /// `decides`: a CONSENSUS actor decides records, asynchronously.
  explicit Cluster(std::int32_t min_nodes, std::int32_t max_nodes = 0, bool decides = false,
                   std::int64_t group = 1, std::chrono::milliseconds stable = 0ms) {
    if (decides)
      consensus = spawn_stub<consensus_actor>(
          system,
          [this](atom::propose, const training::GenerationRecord& record) -> caf::result<void> {
            proposals.push_back(record);
            if (voters_are_silent)
              return caf::delegated<void>{};
            return caf::unit;
          });
    membership = spawn_state<MembershipState, membership_actor>(
        system,
        MembershipSetup{
            .min_nodes = min_nodes,
            .max_nodes = std::max(min_nodes, max_nodes),
            .timeouts = {.detection = 5s, .rejoin = rejoin, .quorum = 60s, .admission = stable},
            .probe = 5s,
            .between_returns = between_returns,
            .slices = [](std::int64_t) { return 12; },
            .say = [this](const std::string& text) { said.push_back(text); },
            .groups = {group, "parallel.shard_group"},
            .consensus = consensus});
  }
  ~Cluster() {
    for (const auto& [address, stub] : stubs)
      self->send_exit(stub, caf::exit_reason::kill);
    self->send_exit(coordinator, caf::exit_reason::kill);
    self->send_exit(membership, caf::exit_reason::kill);
    self->send_exit(consensus, caf::exit_reason::kill);
    scheduler.run();
  }
  /// Starts a daemon; it asks to join when the scheduler runs.
  std::shared_ptr<JoinContext> start(const std::string& address,
                                     const std::map<std::string, std::string>& job = {},
                                     std::int32_t workers = 1,
                                     std::chrono::milliseconds time_left = 0ms) {
    return start(NodeInfo{.address = address,
                          .data = address,
                          .host = {},
                          .version = "1",
                          .workers = workers,
                          .job = job,
                          .time_left_ms = time_left.count()});
  }
  std::shared_ptr<JoinContext> start(NodeInfo info) {
    auto daemon = daemons[info.address] = std::make_shared<JoinContext>();
    if (info.process.empty())
      info.process = std::to_string(++processes);
    stubs[info.address] =
        spawn_state<DaemonStub, member_actor>(system, membership, info, daemon, cuts, coordinator);
    return daemon;
  }
  std::shared_ptr<JoinContext> join(const std::string& address,
                                    const std::map<std::string, std::string>& job = {},
                                    std::int32_t workers = 1) {
    auto daemon = start(address, job, workers);
    scheduler.run();
    return daemon;
  }
  void lead() {
    spawn_coordinator();
    self->send(membership, atom::lead_v, coordinator);
    scheduler.run();
  }
  void spawn_coordinator() {
    coordinator = spawn_stub<coordinator_actor>(
        system, [this](atom::failed, const Error& error) { told->failures.push_back(error); },
        [this](atom::stop, const Error& reason) { told->ending = reason; },
        [this](atom::stop) { ++told->stops; },
        [this](atom::halt, bool save) {
          ++told->halts;
          told->saves += save ? 1 : 0;
        });
  }
  void kill(const std::string& address) {
    self->send_exit(stubs.at(address), caf::exit_reason::kill);
    scheduler.run();
  }
  /// Breaks the link to a daemon that stays alive.
  void cut_off(const std::string& address) {
    caf::anon_send(
        caf::actor_cast<caf::actor>(membership),
        caf::down_msg{stubs.at(address).address(), caf::exit_reason::remote_link_unreachable});
    scheduler.run();
  }
  /// Lets a daemon that was stuck when this generation was halted join again.
  void come_again(const std::string& address, std::int64_t generation) {
    self->send(stubs.at(address), atom::halt_v, generation, Error{});
    scheduler.run();
  }
  /// Lets a daemon that was refused ask again.
  void ask_again(const std::string& address) {
    come_again(address, training::NodeAssignment{}.generation.number);
  }
  /// Cuts the link in both directions.
  void cut(const std::string& one, const std::string& other) {
    cuts->insert({one, other});
    cuts->insert({other, one});
  }
  /// Returns what this node waits for.
  std::string status(const std::string& address) { return wait(address).what; }
  WaitStatus wait(const std::string& address) {
    WaitStatus waiting;
    auto asked = self->request(membership, caf::infinite, atom::status_v, stubs.at(address));
    scheduler.run();
    asked.receive([&](const WaitStatus& told) { waiting = told; }, [](const caf::error&) {});
    return waiting;
  }
  /// Asks to leave. Returns the reason when MEMBERSHIP refuses.
  std::optional<Error> leave(const std::string& address, bool waits = false) {
    std::optional<Error> refused;
    auto asked = self->request(membership, caf::infinite, atom::leave_v, stubs.at(address), waits);
    scheduler.run();
    asked.receive([] {}, [&](const caf::error& error) { refused = from_caf_error(error, {}); });
    return refused;
  }
  template <class... Message>
  void tell(Message&&... message) {
    self->send(membership, std::forward<Message>(message)...);
    scheduler.run();
  }

  std::vector<training::GenerationRecord> proposals; ///< records that CONSENSUS was asked to decide
  bool voters_are_silent = false;                    ///< CONSENSUS never answers
  consensus_actor consensus;
  membership_actor membership;
  coordinator_actor coordinator;
  std::map<std::string, member_actor> stubs;
  std::shared_ptr<Cuts> cuts = std::make_shared<Cuts>();
  int processes = 0; ///< how many processes were started
  std::map<std::string, std::shared_ptr<JoinContext>>
      daemons; ///< by address; the last that started
  std::vector<std::string> said;
  std::shared_ptr<Told> told = std::make_shared<Told>();
};

} // namespace troupe::actors::test
