// Tests MEMBERSHIP while nodes join, fail, leave and are lost in random order, and messages arrive
// in random order.
#include "tests/actors/membership_fixture.hpp"

#include <catch2/catch_test_macros.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <random>

using namespace troupe;
using namespace troupe::actors;
using test::Cluster;

namespace {

class Storm {
  static constexpr int min_nodes = 2, names = 6;

public:
  explicit Storm(std::uint64_t seed, int group)
      : random_{seed}, group_{group}, cluster_{min_nodes, max_nodes(), seed % 2 == 1, group} {
    cluster_.has_coordinator = true;
    cluster_.runs_at_once = false;
    start(0); // the leader
    cluster_.run();
  }

  /// Causes a random event, then delivers some of the pending messages.
  void rage() {
    switch (below(10)) {
    case 0:
    case 1:
    case 2:
      start(some_name());
      break;
    case 3:
      lose(some_name());
      break;
    case 4:
      ask_to_leave(some_name());
      break;
    case 5:
      report(Errc::collective, name(0));
      break;
    case 6:
      report(Errc::device, name(some_name()));
      break;
    case 7:
      cut_link(some_name(), some_name());
      break;
    case 8:
      report(Errc::network, name(some_name()));
      break;
    default:
      hang(some_name());
    }
    if (below(20) == 0)
      cluster_.expire_next();
    for (auto messages = below(16); messages > 0 && !cluster_.messages.empty(); --messages)
      below(2) == 0 ? cluster_.messages.deliver_first() : cluster_.messages.deliver_last();
  }

  /// While the generation fails because of a broken link, nodes with a broken link are left out; a
  /// spare that replaces one may have a broken link, too.
  void fail_between_nodes() {
    cluster_.run();
    come_again();
    const auto& leader = *nodes_.at(name(0));
    for (int round = 0; round < names && trains(leader) && has_broken_link(leader); ++round) {
      report(Errc::network, name(0));
      cluster_.run();
    }
    CHECK_FALSE((trains(leader) && has_broken_link(leader)));
  }

  /// Stops all events: pending messages arrive, and refused nodes try again.
  void calm_down() {
    cluster_.cuts.clear();
    cluster_.run();
    for (int round = 0; round < 2 * names; ++round) {
      bool returns = false;
      come_again();
      for (auto& [address, node] : nodes_) {
        if (is_refused(*node) && node->assignment->left_out && !node->end) {
          cluster_.ask_again(address);
          returns = true;
        } else if (has_to_retry(*node))
          node = cluster_.start(address);
      }
      cluster_.run();
      if (returns) { // another node may have returned just before
        cluster_.pass(test::between_returns);
      }
    }
  }

  void check() {
    for (const auto& [address, node] : nodes_)
      CHECK_FALSE(node->takes_leader_for_dead);
    const auto& leader = *nodes_.at(name(0));
    if (cluster_.told->ending)
      cluster_.finish(failed_end(*cluster_.told->ending)), cluster_.run();
    if (leader.end || is_refused(leader)) // without min_nodes for too long
      return check_nobody_waits();
    const auto living = std::ranges::count_if(
        nodes_, [](const auto& named) { return !named.second->end && !is_refused(*named.second); });
    CHECK(leader.waits == (living < min_nodes));
    if (leader.waits)
      return;
    const auto& record = leader.assignment->generation;
    const auto trains = std::min<std::ptrdiff_t>(living, max_nodes()) / group_ * group_;
    CHECK(std::ssize(record.nodes) == trains);
    for (std::size_t i = 0; i < record.nodes.size(); ++i)
      check_member(record, i);
    check_others(record, trains);
  }

private:
  void come_again() {
    for (auto& [address, node] : nodes_)
      if (std::exchange(node->is_stuck, false) && node->halted && !node->waits)
        cluster_.come_again(address, node->assignment->generation.number);
  }
  static bool trains(const test::JoinContext& node) {
    return node.assignment && !node.assignment->refused && !node.waits && !node.end;
  }
  /// Whether a link between nodes of its generation is broken.
  bool has_broken_link(const test::JoinContext& node) const {
    const auto& nodes = node.assignment->generation.nodes;
    return std::ranges::any_of(cluster_.cuts, [&](const auto& link) {
      return std::ranges::count(nodes, link.first, &training::MemberInfo::address) > 0 &&
             std::ranges::count(nodes, link.second, &training::MemberInfo::address) > 0;
    });
  }
  int max_nodes() const { return group_ == 1 ? 3 : 2 * group_; }
  static std::string name(int index) { return fmt::format("n{}:1", index); }
  static bool is_refused(const test::JoinContext& node) {
    return node.assignment && node.assignment->refused;
  }
  static bool has_to_retry(const test::JoinContext& node) {
    return !node.end && is_refused(node) && node.assignment->refused->code == Errc::network;
  }
  int below(int end) { return std::uniform_int_distribution<int>{0, end - 1}(random_); }
  int some_name() { return 1 + below(names - 1); }

  void start(int index) {
    if (!nodes_.contains(name(index)) || nodes_.at(name(index))->end)
      nodes_[name(index)] = cluster_.start(name(index));
  }
  void lose(int index) {
    if (nodes_.erase(name(index)) > 0)
      cluster_.lose(cluster_.daemons.at(name(index)), "it was killed");
  }
  void ask_to_leave(int index) {
    if (nodes_.contains(name(index)))
      cluster_.ask_to_leave(name(index), index % 2 == 0);
  }
  /// Steps are committed in between, so the job does not give up.
  void report(Errc what, const std::string& node) {
    auto& leader = *nodes_.at(name(0));
    leader.offer = {.step = ++steps_, .travels = true};
    if (leader.assignment)
      cluster_.report(leader.assignment->generation.number,
                      Error{what, "it fails", {.node = node}});
  }
  /// Cuts one direction; both when the other direction is cut, too.
  void cut_link(int from, int to) {
    if (from != to)
      cluster_.cuts.insert({name(from), name(to)});
  }
  void hang(int index) {
    if (nodes_.contains(name(index)))
      nodes_.at(name(index))->is_stuck = true;
  }

  void check_member(const training::GenerationRecord& record, std::size_t index) {
    const auto& place = record.nodes[index];
    CAPTURE(place.address);
    CHECK(place.first_rank == static_cast<std::int32_t>(index));
    REQUIRE(nodes_.contains(place.address));
    const auto& node = *nodes_.at(place.address);
    CHECK_FALSE(node.end);
    CHECK_FALSE(node.waits);
    REQUIRE(node.assignment);
    CHECK(node.assignment->generation.number == record.number);
    CHECK(node.assignment->generation.secret == record.secret);
    CHECK(node.assignment->node == static_cast<std::int32_t>(index));
  }

  /// A node without an assignment waits only when no room is left for it.
  void check_others(const training::GenerationRecord& record, std::ptrdiff_t trains) {
    for (const auto& [address, node] : nodes_) {
      CAPTURE(address);
      if (node->waits)
        CHECK(std::ssize(record.nodes) == trains);
      else if (!node->end && !is_refused(*node))
        CHECK(std::ranges::count(record.nodes, address, &training::MemberInfo::address) == 1);
    }
  }

  void check_nobody_waits() {
    for (const auto& [address, node] : nodes_)
      CHECK_FALSE(node->waits);
  }

  std::mt19937_64 random_;
  int group_; ///< workers that train together
  Cluster cluster_;
  std::map<std::string, std::shared_ptr<test::JoinContext>> nodes_; ///< live nodes
  std::int64_t steps_ = 0;
};

void weather(std::uint64_t first_seed, std::uint64_t storms, int group = 1) {
  for (auto seed = first_seed; seed < first_seed + storms; ++seed) {
    CAPTURE(seed);
    Storm storm{seed, group};
    for (int event = 0; event < 24; ++event)
      storm.rage();
    storm.fail_between_nodes();
    storm.calm_down();
    storm.check();
  }
}

} // namespace

TEST_CASE("after any events in any order, the remaining nodes gather") {
  weather(0, 1'000);
}

TEST_CASE("after any events, as many nodes train as fill groups of two workers") {
  weather(0, 1'000, 2);
}

TEST_CASE("after nine thousand further orders of events, the remaining nodes gather", "[long]") {
  weather(1'000, 9'000);
}
