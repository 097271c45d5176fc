// Tests rules that hold in every schedule of events: thousands of random orders of joins, losses,
// failures, requests to leave, late and repeated messages, time-outs and votes.
#include "tests/actors/membership_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>

#include <random>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using test::Cluster;
using test::DaemonPtr;

namespace {

constexpr int min_nodes = 2, max_nodes = 4, names = 7, slices = 12;

class Schedule {
public:
  explicit Schedule(std::uint64_t seed)
      : random_{seed}, group_{1 + below(2)}, cluster_{min_nodes, max_nodes, below(2) == 0, group_,
                                                      below(2) * 5s} {
    cluster_.has_coordinator = true;
    cluster_.runs_at_once = false;
    cluster_.observe = [this](const Action& action) {
      std::visit([this](const auto& each) { check(each); }, action);
    };
    if (below(4) == 0)
      succeed();
    start(0); // the node of this Membership, and so the first
    cluster_.run();
  }

  void run(int events) {
    for (int event = 0; event < events && !cluster_.is_over; ++event) {
      happen();
      for (auto count = below(12); count > 0 && !cluster_.messages.empty(); --count)
        cluster_.messages.deliver(
            static_cast<std::size_t>(below(static_cast<int>(cluster_.messages.queues()))));
      check_wait();
    }
    end();
  }
  /// Rules that did not hold.
  const std::set<std::string>& mistakes() const { return mistakes_; }
  const std::vector<std::string>& log() const { return cluster_.said; }

private:
  int below(int end) { return std::uniform_int_distribution<int>{0, end - 1}(random_); }
  static std::string name(int index) { return fmt::format("n{}:1", index); }
  void expect(bool holds, const std::string& rule) {
    if (!holds)
      mistakes_.insert(rule);
  }

  // Events.

  void happen() {
    const auto node = below(names), follower = 1 + below(names - 1);
    switch (below(16)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return start(node);
    case 4:
      return lose(follower);
    case 5:
      return with(follower, [&](const DaemonPtr& daemon) {
        cluster_.tell_down(daemon, "its connection was closed");
      });
    case 6:
      return with(node,
                  [&](const DaemonPtr&) { cluster_.ask_to_leave(name(node), below(2) == 0); });
    case 7:
      return with(follower, [&](const DaemonPtr&) { cluster_.withdraw(name(follower)); });
    case 8:
      return repeat_request(node);
    case 9:
      return cut(name(node), name(below(names)));
    case 10:
      return fail_between_nodes();
    case 11:
      return fail(Errc::device, node);
    case 12:
      return with(node, [&](const DaemonPtr& daemon) { daemon->is_silent = below(2) == 0; });
    case 13:
      return with(node, [&](const DaemonPtr& daemon) { daemon->is_stuck = below(2) == 0; });
    case 14:
      return vote();
    default:
      expire();
    }
  }

  template <class Act>
  void with(int node, Act act) {
    const auto found = cluster_.daemons.find(name(node));
    if (found != cluster_.daemons.end() && !found->second->is_dead)
      act(found->second);
  }

  /// Starts a daemon, or lets one ask again, also while it waits.
  void start(int node) {
    const auto found = cluster_.daemons.find(name(node));
    const bool lives = found != cluster_.daemons.end() && !found->second->is_dead;
    if (lives && !found->second->end && below(2) == 0)
      return cluster_.ask_to_join(found->second);
    if (lives && node == 0) // Membership ends with the leader
      return;
    if (lives)
      lose(node);
    const auto workers = below(8) == 0 && node > 0 ? 0 : 1 + below(2);
    cluster_.start(name(node), {}, workers, node > 0 && below(3) == 0 ? 40s : 0s);
  }
  void lose(int node) {
    with(node, [&](const DaemonPtr& daemon) { cluster_.lose(daemon, "it was killed"); });
  }
  /// The same request arrives once more, later.
  void repeat_request(int node) {
    with(node, [&](const DaemonPtr& daemon) {
      cluster_.send(*daemon,
                    [this, daemon, info = daemon->info] { cluster_.receive_join(daemon, info); });
    });
  }
  void cut(const std::string& from, const std::string& to) {
    if (from == to)
      return;
    cluster_.cuts.insert({from, to});
    faulty_.insert({from, to});
  }
  void fail(Errc code, int node) {
    for (auto& [address, daemon] : cluster_.daemons)
      daemon->offer = {.step = steps_, .travels = true};
    steps_ += below(2);
    if (code == Errc::device)
      failed_.insert(name(node));
    cluster_.report(generation_ - below(8) / 7, Error{code, "it fails", {.node = name(node)}});
  }
  /// All train, and then a link between two of them breaks.
  void fail_between_nodes() {
    cluster_.run();
    const auto& leader = cluster_.daemons.at(name(0))->assignment;
    if (!leader || leader->refused)
      return;
    cluster_.cuts.clear();
    // A probe is in progress until its limit if a node has not answered it.
    if (std::ranges::all_of(cluster_.silent,
                            [](const auto& asked) { return asked.second.empty(); }))
      faulty_before_.clear();
    faulty_before_.merge(std::exchange(faulty_, {}));
    const auto& nodes = leader->generation.nodes;
    const auto some = [&] {
      return nodes[static_cast<std::size_t>(below(static_cast<int>(nodes.size())))].address;
    };
    cut(some(), some());
    fail(below(2) == 0 ? Errc::network : Errc::collective, below(names));
    if (below(2) == 0)
      cluster_.run();
  }
  void vote() {
    cluster_.voters_are_silent = below(3) == 0;
    if (below(12) == 0)
      cluster_.refuses_records = Error{Errc::network, "another node leads the job now"};
    if (below(12) == 0) {
      is_stopped_ = true;
      cluster_.stop();
    }
  }
  /// Time passes without messages, until one or several limits are over.
  void expire() {
    for (auto limits = 1 + below(4); limits > 0; --limits)
      cluster_.expire_next();
  }
  /// The nodes of a lost leader gather here.
  void succeed() {
    training::GenerationRecord before{.number = 4, .slices = slices};
    for (int node = 0; node < 3; ++node) {
      before.nodes.push_back({.address = name(node), .first_rank = node, .workers = 1});
      before.voters.push_back({name(node), name(node)});
    }
    cluster_.rules.before = before;
    cluster_.rules.lost = Error{Errc::network, "the leader was lost"};
    cluster_.begin();
  }

  /// All that is on its way arrives, the job ends, and limits expire.
  void end() {
    cluster_.run();
    cluster_.finish({.result = {.status = "completed"}});
    for (int limits = 0; limits < 100 && cluster_.expire_next(); ++limits)
      cluster_.run();
    cluster_.run();
    if (cluster_.is_over)
      return; // the actor has ended, and answers the rest
    expect(cluster_.joins.empty(), "a join request was never answered");
    expect(cluster_.requests.empty(), "another request was never answered");
  }

  // Rules.

  void check(const action::Assign& assign) {
    const auto& [refused, record, node, shared, left_out] = assign.assignment;
    expect(cluster_.joins.contains(assign.request), "a join request was answered twice");
    if (left_out)
      check_left_out(*refused);
    if (refused)
      return;
    gathers_ = false;
    generation_ = record.number;
    const auto& member = assign.assignment.member();
    expect(assigned_.emplace(record.number, member.process).second,
           "a node has two assignments in a generation");
  }
  /// A node is left out if it has, or had, a broken link.
  void check_left_out(const Error& refused) {
    const auto& node = refused.where.node;
    if (!refused.message.starts_with("left out: "))
      return;
    const auto has_end = [&](const auto& link) {
      return link.first == node || link.second == node;
    };
    expect(std::ranges::any_of(faulty_, has_end) || std::ranges::any_of(faulty_before_, has_end),
           "a healthy node is blamed for the broken link of another one");
  }
  void check(const action::Finish& finish) {
    is_told_ = is_told_ || finish.answers;
    const auto& error = finish.end.error;
    if (finish.end.for_all || !error || error->code != Errc::device)
      return;
    expect(failed_.contains(cluster_.handles.at(finish.node)->info.address),
           "a healthy node is dismissed for the failure of another one");
  }
  void check(const action::Propose& propose) {
    expect(cluster_.open_proposals == 0, "a record is proposed while another is pending");
    if (propose.record.revision == 0) {
      proposed_ = cluster_.now;
      gathers_ = false;
    }
    check(propose.record);
  }
  void check(const training::GenerationRecord& record) {
    std::int32_t rank = 0;
    for (const auto& node : record.nodes) {
      expect(node.first_rank == rank, "ranks are not contiguous");
      rank += node.workers;
    }
    expect(rank <= slices, "there are more workers than slices");
    expect(std::ssize(record.nodes) <= max_nodes, "there are more nodes than max_nodes");
    const auto waited = cluster_.membership->status({}, cluster_.now).waited_ms;
    if (record.revision > 0 || is_stopped_ || waited >= test::quorum / 1ms)
      return; // any number of nodes saves the state
    expect(std::ssize(record.nodes) + std::ssize(record.spares) >= min_nodes,
           "fewer than min_nodes begin a generation");
    expect(rank % group_ == 0, "a group of workers is not whole");
  }
  void check(const action::ForgetCoordinator&) { gathers_ = true; }
  template <class Other>
  void check(const Other&) {}

  /// No node waits for nodes or voters longer than the quorum time-out, and then for the decision
  /// of the end.
  void check_wait() {
    if (cluster_.is_over)
      return;
    // No node waits for a revision.
    const bool decides = cluster_.open_proposals > 0 && cluster_.proposals.back().revision == 0;
    expect(!decides || is_told_ || cluster_.now <= proposed_ + test::quorum,
           "nodes wait for voters beyond the quorum time-out");
    if (!gathers_ || is_told_)
      return;
    for (const auto& [address, daemon] : cluster_.daemons) {
      const auto wait = cluster_.wait(address);
      expect(!cluster_.is_pending(*daemon) || wait.limit_ms == 0 ||
                 wait.waited_ms <= wait.limit_ms + cluster_.rules.timeouts.detection / 1ms,
             fmt::format("{} waits beyond the quorum time-out: {}", address, wait.what));
    }
  }

  std::mt19937_64 random_;
  int group_; ///< workers that train together
  Cluster cluster_;
  std::set<std::string> mistakes_;
  std::set<std::pair<std::int64_t, std::string>> assigned_; ///< generation, process
  test::Cuts faulty_, faulty_before_; ///< links broken lately, and during the last probes
  std::set<std::string> failed_;      ///< addresses of nodes that reported a failure of their own
  Time proposed_ = {};                ///< when the last generation was proposed
  bool is_stopped_ = false, is_told_ = false; ///< the job was stopped; nodes were told its end
  bool gathers_ = true;
  std::int64_t steps_ = 1, generation_ = 0;
};

void run(std::uint64_t first_seed, std::uint64_t schedules) {
  for (auto seed = first_seed; seed < first_seed + schedules; ++seed) {
    Schedule schedule{seed};
    schedule.run(60);
    if (!schedule.mistakes().empty()) // formatting each log would take longer than the schedules
      UNSCOPED_INFO(fmt::format("seed {}: {}\n{}", seed, fmt::join(schedule.mistakes(), "; "),
                                fmt::join(schedule.log(), "\n")));
    REQUIRE(schedule.mistakes().empty());
  }
}

} // namespace

TEST_CASE("the rules of membership hold in any schedule of events") {
  run(0, 3'000);
}

TEST_CASE("the rules of membership hold in ten thousand further schedules", "[long]") {
  run(3'000, 10'000);
}
