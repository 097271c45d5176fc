// Explores chains of decisions: each is made by the voters that the previous record names, until a
// record ends the job. Covers every order in which messages of two decisions arrive, with any
// message lost, late or repeated, and any voter dead or lagging from any moment.
#include "actors/consensus/paxos_instance.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

using namespace troupe::actors;

namespace {

/// A decision is a record, which names the voters of the next decision.
using Record = std::int64_t;
using Voters = std::vector<std::size_t>;

constexpr Record first = 0, grown = 1, replaced = 2, the_end = 3, later = 10;

Voters voters_after(Record record) {
  switch (record) {
  case first:
    return {0, 1};
  case grown:
    return {0, 1, 2};
  case replaced:
    return {1, 2};
  default:
    return {};
  }
}

/// Returns the records that a node would propose after this record.
std::vector<Record> pending_proposals(Record after, std::size_t node) {
  if (after != first)
    return {later + static_cast<Record>(node)};
  return {node == 0 ? grown : replaced, the_end};
}

/// Messages about the successor of one record.
struct Messages {
  std::set<Ballot> campaigns;
  std::set<std::pair<std::size_t, Promise<Record>>> promises; ///< with the voter's index
  std::set<Proposal<Record>> proposals;
  std::set<std::pair<std::size_t, Ballot>> acceptances;

  bool operator==(const Messages&) const = default;
};

struct Node {
  Record last = first;                           ///< the last record that it knows to be decided
  std::optional<PaxosInstance<Record>> instance; ///< for the next record; empty: it has no vote

  bool operator==(const Node&) const = default;
};

struct World {
  std::vector<Node> nodes;
  std::map<Record, Messages> sent; ///< by the record before

  bool operator==(const World&) const = default;
};

struct HashOfWorld {
  std::size_t operator()(const World& world) const {
    std::size_t hash = 0;
    const auto mix = [&](auto... numbers) {
      ((hash = (hash ^ static_cast<std::size_t>(numbers)) * 0x9e3779b97f4a7c15U), ...);
    };
    for (const auto& node : world.nodes)
      mix(node.last, node.instance ? node.instance->ballot().value_or(-1) : -2);
    for (const auto& [record, sent] : world.sent) {
      mix(record);
      for (const auto campaign : sent.campaigns)
        mix(campaign);
      for (const auto& [from, promise] : sent.promises)
        mix(from, promise.ballot);
      for (const auto& proposal : sent.proposals)
        mix(proposal.ballot, proposal.value);
      for (const auto& [from, ballot] : sent.acceptances)
        mix(from, ballot);
    }
    return hash ^ hash >> 32;
  }
};

class Exploration {
public:
  explicit Exploration(Ballot last_ballot) : last_ballot_{last_ballot} {
    World world{.nodes = std::vector<Node>(3), .sent = {}};
    for (std::size_t node = 0; node < world.nodes.size(); ++node)
      adopt(world, node, first);
    see(std::move(world));
  }

  void run() {
    while (!open_.empty()) {
      const auto* world = open_.back();
      open_.pop_back();
      for (std::size_t node = 0; node < world->nodes.size(); ++node)
        go_on_from(*world, node);
    }
  }

  const std::map<Record, std::set<Record>>& outcomes() const { return outcomes_; }

private:
  static void adopt(World& world, std::size_t node, Record record) {
    const auto voters = voters_after(record);
    const auto own = std::ranges::find(voters, node);
    world.nodes[node] = {record, std::nullopt};
    if (own == voters.end())
      return;
    const auto index = static_cast<std::size_t>(own - voters.begin());
    world.nodes[node].instance.emplace(voters.size(), index);
    if (index == 0)
      world.nodes[node].instance->begin_first();
  }

  static std::size_t index_of(const Node& node, std::size_t name) {
    const auto voters = voters_after(node.last);
    return static_cast<std::size_t>(std::ranges::find(voters, name) - voters.begin());
  }

  /// Returns the records decided after `after`, even if no node knows of them.
  static std::set<Record> decided(const World& world, Record after) {
    std::set<Record> found;
    const auto sent = world.sent.find(after);
    if (sent == world.sent.end())
      return found;
    for (const auto& proposal : sent->second.proposals) {
      std::set<std::size_t> accepted;
      for (const auto& [voter, ballot] : sent->second.acceptances)
        if (ballot == proposal.ballot)
          accepted.insert(voter);
      if (is_quorum(accepted, voters_after(after).size()))
        found.insert(proposal.value);
    }
    return found;
  }

  void see(World world) {
    if (const auto [place, is_new] = seen_.insert(std::move(world)); is_new) {
      check(*place);
      open_.push_back(&*place);
    }
  }

  void check(const World& world) {
    const auto successors = decided(world, first);
    if (successors.size() > 1)
      FAIL("two records follow one");
    for (const auto& [record, sent] : world.sent) {
      if (record != first && !successors.contains(record))
        FAIL("a record that was not decided is followed");
      outcomes_[record].merge(decided(world, record));
      if (decided(world, record).size() > 1)
        FAIL("two records follow one");
    }
  }

  void go_on_from(const World& world, std::size_t name) {
    const auto& node = world.nodes[name];
    for (const auto record :
         decided(world, node.last)) { // a node that has counted the acceptances reports it
      auto next = world;
      adopt(next, name, record);
      see(std::move(next));
    }
    if (!node.instance)
      return;
    campaign(world, name);
    if (!node.instance->proposed())
      hear_and_propose(world, name, 0);
    receive(world, name);
  }

  void campaign(World world, std::size_t name) {
    auto& node = world.nodes[name];
    const auto ballot = node.instance->campaign();
    if (ballot > last_ballot_)
      return;
    world.sent[node.last].campaigns.insert(ballot);
    see(std::move(world));
  }

  /// Explores every case in which each voter from `from` on contributes one of its promises, or
  /// none.
  void hear_and_propose(const World& world, std::size_t name, std::size_t from) {
    const auto& node = world.nodes[name];
    if (from == voters_after(node.last).size())
      return propose(world, name);
    hear_and_propose(world, name, from + 1);
    const auto sent = world.sent.find(node.last);
    if (sent == world.sent.end())
      return;
    for (const auto& [promising, promise] : sent->second.promises)
      if (promising == from && promise.ballot == node.instance->ballot()) {
        auto next = world;
        next.nodes[name].instance->note(from, promise);
        hear_and_propose(next, name, from + 1);
      }
  }

  void propose(const World& world, std::size_t name) {
    if (!world.nodes[name].instance->may_propose())
      return;
    for (const auto pending_proposal : pending_proposals(world.nodes[name].last, name)) {
      auto next = world;
      auto& node = next.nodes[name];
      auto& sent = next.sent[node.last];
      const auto proposal = node.instance->propose(pending_proposal);
      sent.proposals.insert(proposal);
      if (node.instance->accept(proposal) == proposal.ballot)
        sent.acceptances.emplace(index_of(node, name), proposal.ballot);
      see(std::move(next));
    }
  }

  void receive(const World& world, std::size_t name) {
    const auto last = world.nodes[name].last;
    const auto index = index_of(world.nodes[name], name);
    const auto sent = world.sent.find(last);
    if (sent == world.sent.end())
      return;
    for (const auto ballot : sent->second.campaigns) {
      auto next = world;
      if (const auto promise = next.nodes[name].instance->promise(ballot); promise.is_granted)
        next.sent[last].promises.emplace(index, promise);
      see(std::move(next));
    }
    for (const auto& proposal : sent->second.proposals) {
      auto next = world;
      if (next.nodes[name].instance->accept(proposal) == proposal.ballot)
        next.sent[last].acceptances.emplace(index, proposal.ballot);
      see(std::move(next));
    }
  }

  Ballot last_ballot_;
  std::unordered_set<World, HashOfWorld> seen_;
  std::vector<const World*> open_;
  std::map<Record, std::set<Record>> outcomes_;
};

} // namespace

TEST_CASE("while voters change, a record has one successor at most and an end has none") {
  Exploration exploration{1};
  exploration.run();
  const auto& outcomes = exploration.outcomes();
  // Every node that may propose can win, also with voters that the first record did not name.
  CHECK(outcomes.at(first) == std::set{grown, replaced, the_end});
  CHECK(outcomes.at(grown) == std::set{later, later + 1});
  CHECK(outcomes.at(replaced) == std::set{later + 1, later + 2});
  CHECK_FALSE(outcomes.contains(the_end));
}
