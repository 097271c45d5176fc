// Tests how CONSENSUS actors elect leaders and decide records while some of them are lost.
#include "actors/membership/quorum.hpp"
#include "tests/actors/consensus_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <random>
#include <set>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using test::identity;
using test::name;
using test::Town;

namespace {

bool can_go_on(const Town& town) {
  std::set<std::size_t> left;
  const auto& voters = town.last().voters;
  for (std::size_t i = 0; i < voters.size(); ++i)
    if (town.lives(voters[i].address))
      left.insert(i);
  return is_quorum(left, voters.size());
}

} // namespace

TEST_CASE("the first remaining node leads, and after its loss the next one") {
  Town town{4};
  town.lose(name(0));
  town.pass(1s);
  CHECK(town.last().number == 2);
  CHECK(town.last().leader() == name(1));
  CHECK(town.last().nodes.size() == 3);
  town.lose(name(1));
  town.pass(1s);
  CHECK(town.last().number == 3);
  CHECK(town.last().leader() == name(2));
}

TEST_CASE("nodes without a quorum report it and wait") {
  Town town{3};
  town.lose(name(0));
  town.lose(name(1));
  town.pass(30s);
  CHECK(town.last().number == 1);
  CHECK(town.status(name(2)) == "leader n0:1 was lost; 1 of 3 voters present");
}

TEST_CASE("the follower of two nodes has no majority, except with a witness") {
  Town two{2};
  two.lose(name(0));
  two.pass(30s);
  CHECK(two.last().number == 1);
  Town three{2, 1};
  three.lose(name(0));
  three.pass(5s);
  CHECK(three.last().number == 2);
  CHECK(three.last().leader() == name(1));
}

TEST_CASE("a leader that leaves exits once another node leads") {
  const int nodes = GENERATE(1, 2, 3);
  CAPTURE(nodes);
  Town town{nodes};
  town.leave();
  town.pass(1s);
  CHECK(town.has_left == (nodes > 1));
  CHECK(town.last().number == (nodes > 1 ? 2 : 1));
  CHECK(town.last().leader() == name(nodes > 1 ? 1 : 0));
  CHECK(std::ssize(town.last().nodes) == std::max(1, nodes - 1));
}

TEST_CASE("a witness never leads") {
  Town town{1, 2};
  town.lose(name(0));
  town.pass(30s);
  CHECK(town.last().number == 1);
}

TEST_CASE("voters decided during training are the voters from then on") {
  Town town{2, 1};
  town.revise({identity(name(0)), identity(name(1))}); // as when the witness is dead
  town.pass(1s);
  REQUIRE(town.last().order() == std::pair{std::int64_t{1}, 1});
  town.lose(name(0));
  town.pass(30s);
  CHECK(town.last().number == 1); // n1 is one of two voters, and not the first
  CHECK(town.status(name(1)) == "leader n0:1 was lost; 1 of 2 voters present");
}

TEST_CASE("a voter added during training takes part in the next election") {
  Town town{2, 1};
  const auto all = town.last().voters;
  town.revise({all[0], all[1]});
  town.pass(1s);
  town.revise(all);
  town.pass(1s);
  REQUIRE(town.last().revision == 2);
  town.lose(name(0));
  town.pass(5s);
  CHECK(town.last().number == 2);
  CHECK(town.last().leader() == name(1));
}

TEST_CASE("every node hears a decided end, and no node leads after it") {
  Town town{3, 1};
  town.end();
  town.scheduler.run();
  town.lose(name(0)); // before any other message arrives
  town.pass(30s);
  CHECK(town.told_the_end() == 3);
  CHECK(town.last().number == 1);
  CHECK(town.why_no_leader(name(1)).code == Errc::stopped);
  CHECK(town.why_no_leader(name(1)).message == "the job has ended already: completed");
}

TEST_CASE("an end that one other voter accepted survives the loss of the leader") {
  Town town{3};
  town.end();
  for (int messages = 0; messages < 4; ++messages) // the record is on its way to the others
    town.scheduler.run_once();
  town.lose(name(0));
  town.pass(30s);
  // Either the others decided the end, or no other voter accepted it and another node leads.
  CHECK((town.told_the_end() == 2) != (town.last().number == 2));
}

TEST_CASE("a node that has joined another job does not return to the previous one") {
  Town town{2};
  auto other = town.last();
  other.job = "another";
  other.secret = "another";
  ++other.number;
  const auto before = town.last();
  town.tell(name(1), other);
  CHECK(town.knows(name(1)).job == "another");
  town.tell(name(1), before);
  CHECK(town.knows(name(1)).job == "another");
}

TEST_CASE("after any losses each generation has one record, and a quorum elects a new leader",
          "[long]") {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    const auto below = [&](int end) {
      return std::uniform_int_distribution<int>{0, end - 1}(random);
    };
    const int nodes = 2 + below(4);
    Town town{nodes, below(2)};
    for (int i = 0; i < nodes; ++i)
      town.busy[name(i)] = 500ms * below(6);
    for (int events = below(4); events >= 0; --events) {
      const bool may_propose = town.lives(town.last().leader()) && !town.proposes();
      if (may_propose && below(3) == 0)
        town.revise(town.voters());
      else if (may_propose && below(12) == 0)
        town.end();
      const auto victim = below(2) == 0 ? town.last().leader() : name(below(nodes));
      if (town.lives(victim) && town.living() > 1)
        town.lose(victim);
      for (auto messages = below(40); messages > 0 && town.scheduler.has_job(); --messages)
        if (below(2) == 0)
          town.scheduler.run_once();
        else
          town.scheduler.run_once_lifo();
      if (below(3) == 0)
        town.scheduler.trigger_timeout();
    }
    const bool is_led = town.lives(town.last().leader());
    const auto number = town.last().number;
    const bool may = can_go_on(town) && !town.proposes();
    town.pass(60s);
    REQUIRE_FALSE(town.is_forked);
    if (town.last().end && may)
      CHECK(town.told_the_end() == town.living());
    else if (!is_led && may) // otherwise a proposal that was accepted before may still be decided
      CHECK((town.last().number > number || town.told_the_end() == town.living()));
  }
}
