// Explores all runs of a decision by a few voters: every order in which messages arrive, with any
// message lost, late or repeated, and any voter dead from any moment.
#include "actors/consensus/paxos_instance.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <set>
#include <unordered_set>
#include <vector>

using namespace troupe::actors;

namespace {

using Value = std::int64_t;

/// Sent messages. Each may arrive at any time, any number of times; a message that never arrives is
/// lost, or its receiver is dead.
struct Messages {
  std::set<Ballot> campaigns;
  std::set<std::pair<std::size_t, Promise<Value>>> promises; ///< with the promising voter
  std::set<Proposal<Value>> proposals;
  std::set<std::pair<std::size_t, Ballot>> acceptances;

  bool operator==(const Messages&) const = default;
};

struct World {
  std::vector<PaxosInstance<Value>> voters;
  Messages sent;

  bool operator==(const World&) const = default;
};

struct HashOfWorld {
  std::size_t operator()(const World& world) const {
    std::size_t hash = 0;
    const auto mix = [&](auto... numbers) {
      ((hash = (hash ^ static_cast<std::size_t>(numbers)) * 0x9e3779b97f4a7c15U), ...);
    };
    for (const auto& voter : world.voters)
      mix(voter.ballot().value_or(-1), voter.may_propose(), voter.proposed().has_value(),
          voter.decided() != nullptr);
    for (const auto campaign : world.sent.campaigns)
      mix(campaign);
    for (const auto& [from, promise] : world.sent.promises)
      mix(from, promise.ballot);
    for (const auto& proposal : world.sent.proposals)
      mix(proposal.ballot, proposal.value);
    for (const auto& [from, ballot] : world.sent.acceptances)
      mix(from, ballot);
    return hash ^ hash >> 32;
  }
};

class Exploration {
public:
  Exploration(std::size_t voters, Ballot last_ballot) : last_ballot_{last_ballot} {
    World first;
    for (std::size_t voter = 0; voter < voters; ++voter)
      first.voters.emplace_back(voters, voter);
    first.voters[0].begin_first();
    see(std::move(first));
  }

  void run() {
    while (!open_.empty()) {
      const auto* world = open_.back();
      open_.pop_back();
      go_on_from(*world);
    }
  }

  std::set<Value> outcomes() const { return outcomes_; }

private:
  void see(World world) {
    if (const auto [place, is_new] = seen_.insert(std::move(world)); is_new) {
      check(*place);
      open_.push_back(&*place);
    }
  }

  /// Checks that at most one value is decided, even if no voter knows of it, and that a voter that
  /// learns of all acceptances finds that value.
  void check(const World& world) {
    std::set<Value> decided;
    for (const auto& proposal : world.sent.proposals) {
      std::set<std::size_t> accepted;
      for (const auto& [voter, ballot] : world.sent.acceptances)
        if (ballot == proposal.ballot)
          accepted.insert(voter);
      if (is_quorum(accepted, world.voters.size()))
        decided.insert(proposal.value);
    }
    std::set<Value> found;
    for (auto voter : world.voters) {
      for (const auto& [from, ballot] : world.sent.acceptances)
        voter.note(from, ballot);
      if (const auto* value = voter.decided())
        found.insert(*value);
    }
    if (decided.size() > 1 || !std::ranges::includes(decided, found))
      FAIL("two values are decided");
    outcomes_.merge(decided);
  }

  void go_on_from(const World& world) {
    for (std::size_t voter = 0; voter < world.voters.size(); ++voter) {
      campaign(world, voter);
      if (!world.voters[voter].proposed())
        hear_and_propose(world, voter, 0);
      receive_campaigns(world, voter);
      receive_proposals(world, voter);
    }
  }

  void campaign(World world, std::size_t voter) {
    const auto ballot = world.voters[voter].campaign();
    if (ballot > last_ballot_)
      return;
    world.sent.campaigns.insert(ballot);
    see(std::move(world));
  }

  /// Explores every case in which each voter from `from` on contributes one of its promises, or
  /// none.
  void hear_and_propose(const World& world, std::size_t index, std::size_t from) {
    if (from == world.voters.size())
      return propose(world, index);
    hear_and_propose(world, index, from + 1);
    for (const auto& [promising, promise] : world.sent.promises)
      if (promising == from && promise.ballot == world.voters[index].ballot()) {
        auto next = world;
        next.voters[index].note(from, promise);
        hear_and_propose(next, index, from + 1);
      }
  }

  /// Proposes a value that differs for each voter.
  void propose(World world, std::size_t index) {
    auto& voter = world.voters[index];
    if (!voter.may_propose())
      return;
    const auto proposal = voter.propose(static_cast<Value>(index));
    world.sent.proposals.insert(proposal);
    if (voter.accept(proposal) == proposal.ballot) // its own acceptance
      world.sent.acceptances.emplace(index, proposal.ballot);
    see(std::move(world));
  }

  void receive_campaigns(const World& world, std::size_t voter) {
    for (const auto ballot : world.sent.campaigns) {
      auto next = world;
      if (const auto promise = next.voters[voter].promise(ballot); promise.is_granted)
        next.sent.promises.emplace(voter, promise);
      see(std::move(next));
    }
  }

  void receive_proposals(const World& world, std::size_t voter) {
    for (const auto& proposal : world.sent.proposals) {
      auto next = world;
      if (next.voters[voter].accept(proposal) == proposal.ballot)
        next.sent.acceptances.emplace(voter, proposal.ballot);
      see(std::move(next));
    }
  }

  Ballot last_ballot_;
  std::unordered_set<World, HashOfWorld> seen_;
  std::vector<const World*> open_;
  std::set<Value> outcomes_;
};

void explore(std::size_t voters, Ballot last_ballot) {
  CAPTURE(voters, last_ballot);
  Exploration exploration{voters, last_ballot};
  exploration.run();
  // Every voter with a ballot can win.
  CHECK(exploration.outcomes().size() == std::min<std::size_t>(voters, last_ballot + 1));
}

} // namespace

TEST_CASE("in every order of messages and losses, at most one value is decided") {
  explore(1, 3);
  explore(2, 5);
  explore(3, 2);
}

TEST_CASE("with more voters and ballots, at most one value is decided", "[long]") {
  explore(3, 3);
  explore(4, 2);
}

TEST_CASE("voters that are lost for good are not needed for a value that no quorum could replace") {
  PaxosInstance<Value> instance{4, 2};
  const auto ballot = instance.campaign();
  for (const std::size_t voter : {1, 3})
    instance.note(voter, Promise<Value>{ballot, true});
  instance.propose(7);
  CHECK(instance.decided_without({0, 1}) == nullptr); // the last voter has not accepted it
  instance.note(3, ballot);
  CHECK(instance.decided() == nullptr);
  CHECK(instance.decided_without({}) == nullptr);
  CHECK(instance.decided_without({0}) == nullptr); // three voters could decide another value
  CHECK(instance.decided_without({1}) == nullptr);
  REQUIRE(instance.decided_without({0, 1}) != nullptr);
  CHECK(*instance.decided_without({0, 1}) == 7);
}
