// Tests decisions after CONSENSUS actors were restarted, frozen or cut off for a while.
#include "tests/actors/consensus_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using test::identity;
using test::name;
using test::Town;
using Record = training::GenerationRecord;

namespace {

/// Returns whether a leader's revision is decided. The leader is frozen after `messages` messages.
/// `goes`: the only other voter is lost before the leader continues.
bool is_revised(int messages, std::chrono::milliseconds frozen, bool goes = true) {
  Town town{4};
  town.lose(name(3));
  town.lose(name(2));
  town.pass(1s);
  const auto before = town.last().order();
  town.revise({identity(name(0)), identity(name(1))});
  for (int i = 0; i < messages && town.scheduler.has_job(); ++i)
    town.scheduler.run_once();
  town.scheduler.advance_time(frozen);
  if (goes)
    town.lose(name(1));
  town.pass(1s);
  return town.last().order() > before;
}

} // namespace

TEST_CASE("voters that other processes replaced are not waited for") {
  const bool both = GENERATE(true, false);
  Town town{3, 1};
  town.busy[name(1)] = 2s;
  town.lose(name(0));
  town.pass(1s); // the next node is elected and gathers the others
  town.lose(name(2));
  town.pass(20s);
  CHECK(town.last().number == 1); // n1 and the witness are two of four voters
  town.replace(name(0));
  if (both)
    town.replace(name(2));
  town.pass(3s);
  CHECK(town.last().number == 1);
  town.pass(20s);
  CHECK((town.last().number > 1) ==
        both); // otherwise three voters could decide, and one of them is missing
  CHECK_FALSE(town.is_forked);
}

TEST_CASE(
    "a leader gets decisions from a voter that campaigned while it could not reach the leader") {
  Town town{3};
  town.lose(name(2));
  town.pass(1s);
  town.loses_leader(name(1)); // for a while, no message of the leader arrives
  town.pass(100s);
  const auto before = town.last().order();
  town.revise({identity(name(0)), identity(name(1))});
  town.pass(10s);
  CHECK(town.last().order() > before);
  CHECK_FALSE(town.is_forked);
}

TEST_CASE("an elected node does not continue by itself if restarted voters began the job again") {
  const auto when = GENERATE(0s, 2s, 30s); // restarted voters count as replaced after 4 s
  Town town{3};
  town.busy[name(1)] = 2s;
  town.lose(name(0));
  town.pass(1s); // the next node is elected and gathers the others
  town.lose(name(2));
  Record again{.number = 2, .nodes = {}, .secret = "again"};
  again.job = "begun again";
  for (const int node : {0, 2}) {
    town.replace(name(node));
    const auto process = identity(name(node)).process + " again";
    again.nodes.push_back({.address = name(node), .process = process});
    again.voters.push_back({name(node), process});
  }
  town.pass(when);
  if (when < 5s)
    for (const int node : {0, 2})
      town.propose_first(name(node), again);
  town.pass(30s);
  CHECK((town.last().number == 1) == (when < 5s));
}

TEST_CASE("a late acceptance from a lost voter is not counted") {
  int counted = 0, late = 0;
  for (int messages = 0; messages < 20; ++messages) {
    const bool in_time = is_revised(messages, 0s);
    counted += in_time;
    late += in_time && !is_revised(messages, 3s);
    CHECK(is_revised(messages, 3s, false)); // the other voter is asked again
  }
  CHECK(late > 0);
  CHECK(late < counted);
}
