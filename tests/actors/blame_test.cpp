// Tests which nodes are left out for broken links: by examples, and by comparison with all sets of
// nodes.
#include "actors/membership/blame.hpp"
#include "actors/node/backoff.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <bit>
#include <optional>
#include <random>
#include <tuple>

using namespace troupe::actors;
using namespace std::chrono_literals;

namespace {

using Nodes = std::set<std::string>;
using Links = std::vector<BrokenLink>;

/// Returns nodes with one worker each: "a" leads, "b" joined next, and so on.
std::vector<BlameCandidate> nodes_of(int count) {
  std::vector<BlameCandidate> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back({.address = std::string(1, static_cast<char>('a' + i)),
                     .workers = 1,
                     .came = i,
                     .leads = i == 0});
  return nodes;
}

BrokenLink broken(const char* from, const char* to) {
  return {from, to, "timed out"};
}

bool covers(const Nodes& out, const Links& links) {
  return std::ranges::all_of(links, [&](const BrokenLink& link) {
    return out.contains(link.from) || out.contains(link.to);
  });
}

/// A job with random broken links.
struct Trouble {
  std::vector<BlameCandidate> nodes;
  Links links;
  Nodes shard_replicas,
      voters; ///< the shard replicas must not all leave; a majority of the voters must stay
  bool leader_may_leave = true;

  BlameCosts costs() const {
    return {.loses_state =
                [this](const Nodes& out) { return std::ranges::includes(out, shard_replicas); },
            .loses_quorum =
                [this](const Nodes& out) {
                  const auto gone = std::ranges::count_if(
                      voters, [&](const auto& voter) { return out.contains(voter); });
                  return 2 * gone >= std::ssize(voters);
                },
            .leader_may_leave = leader_may_leave};
  }
};

Trouble random_trouble(std::mt19937_64& random) {
  const auto below = [&](int end) {
    return std::uniform_int_distribution<int>{0, end - 1}(random);
  };
  Trouble trouble{.nodes = nodes_of(2 + below(6)), .leader_may_leave = below(2) == 0};
  const auto chance = 1 + below(9);
  for (auto& node : trouble.nodes) {
    node.workers = 1 + below(3);
    for (const auto& other : trouble.nodes)
      if (node.address != other.address && below(10) < chance)
        trouble.links.push_back({node.address, other.address, "timed out"});
  }
  const auto some = [&] {
    return trouble.nodes[static_cast<std::size_t>(below(static_cast<int>(trouble.nodes.size())))]
        .address;
  };
  trouble.shard_replicas = {some(), some()};
  trouble.voters = {some(), some(), some()};
  return trouble;
}

/// Returns the cost of leaving out `out`; the lowest is the best.
auto cost_of(const Trouble& trouble, const Nodes& out) {
  std::int64_t workers = 0;
  std::vector<std::int64_t> earliest;
  for (const auto& node : trouble.nodes)
    if (out.contains(node.address)) {
      workers += node.workers;
      earliest.insert(earliest.begin(), -node.came);
    }
  const auto costs = trouble.costs();
  const bool leads = out.contains("a");
  return std::tuple{leads && !trouble.leader_may_leave,
                    costs.loses_state(out),
                    costs.loses_quorum(out),
                    out.size(),
                    workers,
                    leads,
                    earliest};
}

/// Returns the best of all sets of nodes.
Nodes best_by_trying(const Trouble& trouble) {
  std::optional<Nodes> best;
  for (unsigned set = 0; set < 1u << trouble.nodes.size(); ++set) {
    Nodes out;
    for (std::size_t i = 0; i < trouble.nodes.size(); ++i)
      if ((set >> i & 1u) != 0)
        out.insert(trouble.nodes[i].address);
    if (covers(out, trouble.links) && (!best || cost_of(trouble, out) < cost_of(trouble, *best)))
      best = out;
  }
  return *best;
}

} // namespace

TEST_CASE("no node is left out when all links work") {
  CHECK(choose_left_out(nodes_of(4), {}, {}).empty());
}

TEST_CASE("a node that no other node reaches is left out, even the leader") {
  const Links to_b = {broken("a", "b"), broken("c", "b"), broken("d", "b")};
  CHECK(choose_left_out(nodes_of(4), to_b, {}) == Nodes{"b"});
  const Links from_leader = {broken("a", "b"), broken("a", "c"), broken("a", "d")};
  CHECK(choose_left_out(nodes_of(4), from_leader, {}) == Nodes{"a"});
  CHECK(choose_left_out(nodes_of(4), from_leader, {.leader_may_leave = false}) ==
        Nodes{"b", "c", "d"});
}

TEST_CASE("when a link is broken, the end that joined last is left out") {
  auto nodes = nodes_of(3);
  CHECK(choose_left_out(nodes, {broken("b", "c")}, {}) == Nodes{"c"});
  CHECK(choose_left_out(nodes, {broken("c", "b")}, {}) == Nodes{"c"});
  nodes[1].came = 7; // a spare that has replaced it
  CHECK(choose_left_out(nodes, {broken("b", "c")}, {}) == Nodes{"b"});
  nodes[1].workers = 4;
  CHECK(choose_left_out(nodes, {broken("b", "c")}, {}) == Nodes{"c"});
  CHECK(choose_left_out(nodes, {broken("a", "c")}, {}) == Nodes{"c"}); // not the leader
  nodes[0].came = 9;
  CHECK(choose_left_out(nodes, {broken("a", "c")}, {}) == Nodes{"c"});
}

TEST_CASE("the last copy of a shard is kept, then a quorum, even if more nodes must leave") {
  const Links star = {broken("b", "c"), broken("b", "d")};
  const auto out = [&](const Nodes& needed_for_state, const Nodes& needed_for_quorum) {
    const auto needs = [](const Nodes& needed) {
      return [needed](const Nodes& gone) {
        return std::ranges::any_of(needed, [&](const auto& node) { return gone.contains(node); });
      };
    };
    return choose_left_out(
        nodes_of(4), star,
        {.loses_state = needs(needed_for_state), .loses_quorum = needs(needed_for_quorum)});
  };
  CHECK(out({}, {}) == Nodes{"b"});
  CHECK(out({"b"}, {}) == Nodes{"c", "d"});
  CHECK(out({}, {"b"}) == Nodes{"c", "d"});
  CHECK(out({"b"}, {"c"}) == Nodes{"c", "d"});
  CHECK(out({"c"}, {"b"}) == Nodes{"b"});
}

TEST_CASE("links of nodes that no longer take part are ignored") {
  CHECK(choose_left_out(nodes_of(3), {broken("a", "x"), broken("x", "b"), broken("b", "b")}, {})
            .empty());
}

TEST_CASE("the cheapest set of nodes is left out, whichever links are broken") {
  std::mt19937_64 random{52};
  for (int round = 0; round < 3'000; ++round) {
    CAPTURE(round);
    const auto trouble = random_trouble(random);
    CHECK(choose_left_out(trouble.nodes, trouble.links, trouble.costs()) ==
          best_by_trying(trouble));
  }
}

TEST_CASE("choosing among many nodes is bounded by a limit on the sets that are tried", "[long]") {
  const int count = 26 * 2;
  auto nodes = nodes_of(count);
  Links pairs;
  for (int i = 0; i + 1 < count; i += 2)
    pairs.push_back({nodes[static_cast<std::size_t>(i)].address,
                     nodes[static_cast<std::size_t>(i) + 1].address, "timed out"});
  const auto out = choose_left_out(nodes, pairs, {});
  CHECK(out.size() == pairs.size());
  CHECK(covers(out, pairs));
}

TEST_CASE("a node's broken links are described in one sentence") {
  const Links links = {broken("a:1", "b:1"), {"c:1", "b:1", "reset"}, broken("b:1", "a:1")};
  CHECK(describe_links("b:1", links) ==
        "the data port of b:1 cannot be reached from a:1 and c:1: timed out; b:1 cannot reach the "
        "data port of a:1: timed out");
  CHECK(describe_links("c:1", links) == "c:1 cannot reach the data port of b:1: reset");
  CHECK(describe_links("d:1", links).empty());
}

TEST_CASE("a minority of nodes with less progress than the others counts as behind") {
  using Behind = std::vector<std::string>;
  CHECK(find_behind({{"a", 3}, {"b", 2}, {"c", 3}}) == Behind{"b"});
  CHECK(find_behind({{"a", 3}, {"b", 2}}) == Behind{"b"});
  CHECK(find_behind({{"a", 3}, {"b", 3}, {"c", 3}}).empty());
  CHECK(find_behind({{"a", 3}, {"b", 2}, {"c", 2}}).empty());
  CHECK(find_behind({}).empty());
}

TEST_CASE("a node that is left out repeatedly waits longer each time, up to five minutes") {
  ReturnDelay delay{2s};
  auto now = ReturnDelay::Clock::time_point{} + 1h;
  for (const auto expected : {10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    CHECK(delay.next(now) == expected);
    now += expected + 30s;
  }
  now += 9min;
  CHECK(delay.next(now) == 300s);
  now += 300s + 10min;
  CHECK(delay.next(now) == 10s);
}
