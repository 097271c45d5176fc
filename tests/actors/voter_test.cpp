// VOTERs of a few nodes, which are lost at any moment, and whose messages arrive in any order.
#include "deterministic.hpp"

#include "troupe/actors/cluster/carried_error.hpp"
#include "troupe/actors/cluster/voter.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;

namespace {

using Record = engine::GenerationRecord;

std::string name(int index) {
  return fmt::format("n{}:1", index);
}

engine::Voter identity(const std::string& address) {
  return {address, address + " once"};
}

/// Daemons of one job, each a VOTER and what a daemon does with what that tells it: whoever is
/// elected has a record decided, of all nodes that live.
class Town : public test::Deterministic {
public:
  explicit Town(int nodes, int witnesses = 0) {
    for (int i = 0; i < nodes + witnesses; ++i)
      start(name(i), i < nodes), spawn_voter(name(i));
    const auto first = record_of(name(0), 1);
    propose(name(0), first);
    scheduler.run();
    for (auto& [address, daemon] : daemons_) {
      self->send(daemon->voter, atom::decided_v, first);
      if (daemon->trains)
        system.spawn([this, address = address](caf::event_based_actor* former) {
          return form(former, address);
        });
    }
    pass(3s);
  }
  ~Town() {
    while (!daemons_.empty())
      lose(daemons_.begin()->first);
    scheduler.run();
  }

  void lose(const std::string& address) {
    self->send_exit(daemons_.at(address)->voter, caf::exit_reason::kill);
    daemons_.erase(address);
  }
  /// Who leads leaves the others, which lose its MEMBERSHIP.
  void leave() {
    const auto leader = last().leader();
    daemons_.at(leader)->leaves = true;
    system.spawn([this, leader](caf::event_based_actor* node) {
      node->request(daemons_.at(leader)->voter, caf::infinite, atom::leave_v).then([this] {
        has_left = true;
      });
    });
    for (const auto& [address, daemon] : daemons_)
      self->send(daemon->voter, atom::failed_v, last().number);
  }
  /// The first record of another job needs no vote.
  void propose_first(const std::string& address, const Record& record) {
    self->send(daemons_.at(address)->voter, atom::propose_v, record);
    scheduler.run();
  }
  void loses_leader(const std::string& address) {
    self->send(daemons_.at(address)->voter, atom::failed_v, last().number);
  }
  /// A daemon that was lost is started again. It is another process, and takes no part yet.
  void replace(const std::string& address) {
    start(address, true);
    daemons_.at(address)->process += " again";
    spawn_voter(address);
  }
  bool lives(const std::string& address) const { return daemons_.contains(address); }
  std::size_t living() const { return daemons_.size(); }

  void pass(std::chrono::milliseconds time) {
    for (; time > 0ms; time -= 100ms) {
      scheduler.run();
      scheduler.advance_time(100ms);
    }
    scheduler.run();
  }

  /// The leader has another set of voters decided, without a new generation.
  void revise(const std::vector<engine::Voter>& voters) {
    auto record = last();
    ++record.revision;
    record.voters = voters;
    propose(record.leader(), record);
  }
  /// The same of the end of the job.
  void end() {
    auto record = last();
    ++record.revision;
    record.end = JobEnd{.result = {.status = "completed"}};
    propose(record.leader(), record);
  }
  bool proposes() const {
    return std::ranges::any_of(daemons_,
                               [](const auto& daemon) { return daemon.second->proposes; });
  }
  /// Those that live, the leader first.
  std::vector<engine::Voter> voters() const { return record_of(last().leader(), 0).voters; }
  std::size_t told_the_end() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        daemons_, [](const auto& daemon) { return daemon.second->ended.has_value(); }));
  }
  Error why_no_leader(const std::string& address) {
    Error why;
    auto answer =
        self->request(daemons_.at(address)->voter, caf::infinite, atom::lead_v, std::int64_t{-1});
    scheduler.run();
    answer.receive([](const std::string&, const Record&) { FAIL("it names a leader"); },
                   [&](const caf::error& error) { why = carried(error, {}); });
    return why;
  }

  void tell(const std::string& address, const Record& record) {
    self->send(daemons_.at(address)->voter, atom::decided_v, record);
    scheduler.run();
  }
  /// The last record, as this one has it.
  Record knows(const std::string& address) {
    Record known;
    auto answer =
        self->request(daemons_.at(address)->voter, caf::infinite, atom::lead_v, std::int64_t{-1});
    scheduler.run();
    answer.receive([&](const std::string&, const Record& record) { known = record; },
                   [](const caf::error& error) { FAIL(caf::to_string(error)); });
    return known;
  }

  const Record& last() const { return decided.rbegin()->second; }
  std::string status(const std::string& address) {
    std::string text;
    auto answer = self->request(daemons_.at(address)->voter, caf::infinite, atom::status_v);
    scheduler.run();
    answer.receive([&](const std::string& told) { text = told; },
                   [](const caf::error& error) { FAIL(caf::to_string(error)); });
    return text;
  }

  std::map<std::pair<std::int64_t, std::int32_t>, Record> decided; ///< by order
  bool has_left = false;                                           ///< the leader may go
  bool is_forked = false; ///< two records of one order were decided, or one after the end
  std::map<std::string, std::chrono::milliseconds> busy; ///< how long each is with all it does

private:
  struct Daemon {
    voter_actor voter;
    std::string process;
    bool trains = true, leaves = false, proposes = false;
    std::optional<JobEnd> ended = {}; ///< as its VOTER has told
    std::string gathers_at = {};      ///< as its VOTER has told last
  };

  void start(const std::string& address, bool trains) {
    auto daemon = std::make_shared<Daemon>();
    daemon->trains = trains;
    daemon->process = identity(address).process;
    daemons_[address] = daemon;
  }

  engine::Voter who(const std::string& address) const {
    return {address, daemons_.at(address)->process};
  }

  void spawn_voter(const std::string& address) {
    const auto daemon = daemons_.at(address);
    daemon->voter = test::spawn_state<VoterState, voter_actor>(
        system, VoterSetup{.self = who(address),
                           .detection = 2s,
                           .meet = [this, address](const std::string& other,
                                                   const voter_actor&) { meet(address, other); },
                           .moved =
                               [told = std::weak_ptr{daemon}](const std::string& there) {
                                 if (const auto of = told.lock())
                                   of->gathers_at = there;
                               },
                           .ended =
                               [told = std::weak_ptr{daemon}](const JobEnd& end) {
                                 if (const auto of = told.lock())
                                   of->ended = end;
                               }});
  }

  void meet(const std::string& one, const std::string& other) {
    if (lives(one) && lives(other)) {
      self->send(daemons_.at(one)->voter, atom::join_v, who(other),
                 peer_actor{daemons_.at(other)->voter});
      self->send(daemons_.at(other)->voter, atom::join_v, who(one),
                 peer_actor{daemons_.at(one)->voter});
    }
    if (lives(one))
      self->send(daemons_.at(one)->voter, atom::done_v, other);
  }

  Record record_of(const std::string& leader, std::int64_t number) const {
    Record record{.number = number, .nodes = {}, .secret = fmt::format("{} {}", leader, number)};
    record.job = "job";
    std::vector<engine::Voter> witnesses;
    for (const auto& [address, daemon] : daemons_)
      if (daemon->leaves)
        continue;
      else if (daemon->trains && address != leader)
        record.nodes.push_back({.address = address, .process = identity(address).process});
      else if (!daemon->trains)
        witnesses.push_back(identity(address));
    record.nodes.insert(record.nodes.begin(),
                        {.address = leader, .process = identity(leader).process});
    for (const auto& place : record.nodes)
      record.voters.push_back({place.address, place.process});
    record.voters.insert(record.voters.end(), witnesses.begin(), witnesses.end());
    return record;
  }

  void propose(const std::string& address, const Record& record) {
    const auto daemon = daemons_.at(address);
    daemon->proposes = true;
    system.spawn([this, daemon, record](caf::event_based_actor* membership) {
      membership->request(daemon->voter, caf::infinite, atom::propose_v, record)
          .then(
              [this, daemon, record] {
                daemon->proposes = false;
                note_decided(record);
              },
              [daemon](const caf::error&) {
                daemon->proposes = false; // others have come together elsewhere
              });
    });
  }

  void note_decided(const Record& record) {
    const auto [place, is_new] = decided.emplace(record.order(), record);
    is_forked = is_forked || (!is_new && (place->second.secret != record.secret ||
                                          place->second.voters != record.voters));
    const auto ended = std::ranges::find_if(
        decided, [](const auto& named) { return named.second.end.has_value(); });
    is_forked = is_forked || (ended != decided.end() && std::next(ended) != decided.end());
  }

  /// As a FORMER does, which has no other leader to go to.
  caf::behavior form(caf::event_based_actor* former, const std::string& address) {
    former->send(former, atom::tick_v);
    return {[this, former, address](atom::tick) {
      if (!lives(address))
        return former->quit();
      const auto generation = last().number;
      former->request(daemons_.at(address)->voter, caf::infinite, atom::lead_v, generation)
          .then(
              [this, former, address](const std::string& leader, const Record& last) {
                if (leader == address)
                  gather(former, address, last.number + 1);
                former->delayed_send(former, 100ms + 2 * busy[address], atom::tick_v);
              },
              [former](const caf::error&) { former->quit(); }); // it is lost
    }};
  }

  /// What it does comes to nothing where others come together elsewhere meanwhile.
  void gather(caf::event_based_actor* former, const std::string& address, std::int64_t number) {
    const auto leads = [this, address] {
      return lives(address) && daemons_.at(address)->gathers_at == address;
    };
    former->run_delayed(busy[address], [=, this] {
      if (!leads())
        return;
      self->send(daemons_.at(address)->voter, atom::form_v);
      former->run_delayed(busy[address], [=, this] {
        if (leads())
          propose(address, record_of(address, number));
      });
    });
  }

  std::map<std::string, std::shared_ptr<Daemon>> daemons_;
};

bool can_go_on(const Town& town) {
  std::set<std::size_t> left;
  const auto& voters = town.last().voters;
  for (std::size_t i = 0; i < voters.size(); ++i)
    if (town.lives(voters[i].address))
      left.insert(i);
  return is_quorum(left, voters.size());
}

} // namespace

TEST_CASE("the first of those that are left leads, and then the next") {
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

TEST_CASE("where fewer are left than decide, they say so and wait") {
  Town town{3};
  town.lose(name(0));
  town.lose(name(1));
  town.pass(30s);
  CHECK(town.last().number == 1);
  CHECK(town.status(name(2)) == "node n0:1, which led, is gone; 1 of 3 nodes that decide who takes "
                                "part are here");
}

TEST_CASE("of two nodes the one that follows is no majority, but with a witness") {
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

TEST_CASE("a leader that leaves goes when another leads") {
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

TEST_CASE("a witness leads nobody") {
  Town town{1, 2};
  town.lose(name(0));
  town.pass(30s);
  CHECK(town.last().number == 1);
}

TEST_CASE("voters that are decided while all train decide from then on") {
  Town town{2, 1};
  town.revise({identity(name(0)), identity(name(1))}); // the witness is dead, say
  town.pass(1s);
  REQUIRE(town.last().order() == std::pair{std::int64_t{1}, 1});
  town.lose(name(0));
  town.pass(30s);
  CHECK(town.last().number == 1); // one of two, and not the first
  CHECK(town.status(name(1)) == "node n0:1, which led, is gone; 1 of 2 nodes that decide who takes "
                                "part are here");
}

TEST_CASE("a voter that is added while all train helps to elect the next leader") {
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

TEST_CASE("an end that is decided is told to all, and nobody leads after it") {
  Town town{3, 1};
  town.end();
  town.scheduler.run();
  town.lose(name(0)); // at once
  town.pass(30s);
  CHECK(town.told_the_end() == 3);
  CHECK(town.last().number == 1);
  CHECK(town.why_no_leader(name(1)).code == Errc::stopped);
  CHECK(town.why_no_leader(name(1)).message == "the job has ended already: completed");
}

TEST_CASE("an end that only one other voter has accepted outlives the leader") {
  Town town{3};
  town.end();
  for (int messages = 0; messages < 4; ++messages) // it is on its way to the others
    town.scheduler.run_once();
  town.lose(name(0));
  town.pass(30s);
  // It was decided by the others, or nobody has accepted it, and another node leads.
  CHECK((town.told_the_end() == 2) != (town.last().number == 2));
}

TEST_CASE("a node that has joined another job does not return to the one before") {
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

TEST_CASE("voters that are replaced by other processes are not waited for") {
  const bool both = GENERATE(true, false);
  Town town{3, 1};
  town.busy[name(1)] = 2s;
  town.lose(name(0));
  town.pass(1s); // the next is elected, and gathers the others
  town.lose(name(2));
  town.pass(20s);
  CHECK(town.last().number == 1); // it and the witness are two of four
  town.replace(name(0));
  if (both)
    town.replace(name(2));
  town.pass(3s);
  CHECK(town.last().number == 1);
  town.pass(20s);
  CHECK((town.last().number > 1) == both); // else three could decide, and one is missing
  CHECK_FALSE(town.is_forked);
}

TEST_CASE("a leader decides with a voter that had lost it, however long that one has campaigned") {
  Town town{3};
  town.lose(name(2));
  town.pass(1s);
  town.loses_leader(name(1)); // for a while nothing of the leader reaches it
  town.pass(100s);
  const auto before = town.last().order();
  town.revise({identity(name(0)), identity(name(1))});
  town.pass(10s);
  CHECK(town.last().order() > before);
  CHECK_FALSE(town.is_forked);
}

TEST_CASE("an elected node does not continue alone if restarted voters have begun the job again") {
  const auto when = GENERATE(0s, 2s, 30s); // they count as replaced after 4 s
  Town town{3};
  town.busy[name(1)] = 2s;
  town.lose(name(0));
  town.pass(1s); // the next is elected, and gathers the others
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

/// Whether a leader's revision is decided, when it is frozen after so many messages, and the other
/// voter that is left has gone when it goes on.
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

TEST_CASE("a late acceptance from a voter that is lost is not counted") {
  int counted = 0, late = 0;
  for (int messages = 0; messages < 20; ++messages) {
    const bool in_time = is_revised(messages, 0s);
    counted += in_time;
    late += in_time && !is_revised(messages, 3s);
    CHECK(is_revised(messages, 3s, false)); // it is asked again
  }
  CHECK(late > 0);
  CHECK(late < counted);
}

TEST_CASE("whoever is lost at whatever moment: one record for each generation, and a new leader "
          "where enough are left") {
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
    else if (!is_led && may) // else what had been accepted before may still be decided
      CHECK((town.last().number > number || town.told_the_end() == town.living()));
  }
}
