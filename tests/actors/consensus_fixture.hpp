/// CONSENSUS actors of a few nodes; any node may be lost at any moment, and messages arrive in any
/// order.
#pragma once

#include "actors/caf_error.hpp"
#include "actors/consensus/consensus.hpp"
#include "tests/actors/deterministic.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace troupe::actors::test {

using namespace std::chrono_literals;

using Record = training::GenerationRecord;

inline std::string name(int index) {
  return fmt::format("n{}:1", index);
}

inline training::Voter identity(const std::string& address) {
  return {address, address + " once"};
}

/// Daemons of one job. Each has a CONSENSUS actor and acts on its messages as a daemon does: the
/// elected node proposes a record that names all live nodes.
class Town : public Deterministic {
public:
  explicit Town(int nodes, int witnesses = 0) {
    for (int i = 0; i < nodes + witnesses; ++i)
      start(name(i), i < nodes), spawn_consensus(name(i));
    const auto first = record_of(name(0), 1);
    propose(name(0), first);
    scheduler.run();
    for (auto& [address, daemon] : daemons_) {
      self->send(daemon->consensus, atom::decided_v, first);
      if (daemon->trains)
        system.spawn([this, address = address](caf::event_based_actor* builder) {
          return form(builder, address);
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
    self->send_exit(daemons_.at(address)->consensus, caf::exit_reason::kill);
    daemons_.erase(address);
  }
  /// Makes the leader leave; the others lose its MEMBERSHIP.
  void leave() {
    const auto leader = last().leader();
    daemons_.at(leader)->leaves = true;
    system.spawn([this, leader](caf::event_based_actor* node) {
      node->request(daemons_.at(leader)->consensus, caf::infinite, atom::leave_v).then([this] {
        has_left = true;
      });
    });
    for (const auto& [address, daemon] : daemons_)
      self->send(daemon->consensus, atom::lost_v, last().number);
  }
  /// Proposes the first record of another job, which needs no vote.
  void propose_first(const std::string& address, const Record& record) {
    self->send(daemons_.at(address)->consensus, atom::propose_v, record);
    scheduler.run();
  }
  void loses_leader(const std::string& address) {
    self->send(daemons_.at(address)->consensus, atom::lost_v, last().number);
  }
  /// Starts a lost daemon again, as another process that takes no part yet.
  void replace(const std::string& address) {
    start(address, true);
    daemons_.at(address)->process += " again";
    spawn_consensus(address);
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

  /// Has the leader propose another set of voters, without a new generation.
  void revise(const std::vector<training::Voter>& voters) {
    auto record = last();
    ++record.revision;
    record.voters = voters;
    propose(record.leader(), record);
  }
  /// Has the leader propose the end of the job.
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
  /// Returns the live voters, the leader first.
  std::vector<training::Voter> voters() const { return record_of(last().leader(), 0).voters; }
  std::size_t told_the_end() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        daemons_, [](const auto& daemon) { return daemon.second->ended.has_value(); }));
  }
  Error why_no_leader(const std::string& address) {
    Error why;
    auto answer = self->request(daemons_.at(address)->consensus, caf::infinite, atom::follow_v,
                                std::int64_t{-1});
    scheduler.run();
    answer.receive([](const std::string&, const Record&) { FAIL("it names a leader"); },
                   [&](const caf::error& error) { why = from_caf_error(error, {}); });
    return why;
  }

  void tell(const std::string& address, const Record& record) {
    self->send(daemons_.at(address)->consensus, atom::decided_v, record);
    scheduler.run();
  }
  /// Returns the last record that this daemon knows.
  Record knows(const std::string& address) {
    Record known;
    auto answer = self->request(daemons_.at(address)->consensus, caf::infinite, atom::follow_v,
                                std::int64_t{-1});
    scheduler.run();
    answer.receive([&](const std::string&, const Record& record) { known = record; },
                   [](const caf::error& error) { FAIL(caf::to_string(error)); });
    return known;
  }

  const Record& last() const { return decided.rbegin()->second; }
  std::string status(const std::string& address) {
    std::string text;
    auto answer = self->request(daemons_.at(address)->consensus, caf::infinite, atom::status_v);
    scheduler.run();
    answer.receive([&](const std::string& told) { text = told; },
                   [](const caf::error& error) { FAIL(caf::to_string(error)); });
    return text;
  }

  std::map<std::pair<std::int64_t, std::int32_t>, Record> decided; ///< by number and revision
  bool has_left = false; ///< the leader was allowed to leave
  bool is_forked =
      false; ///< two different records with one order were decided, or a record after the end
  std::map<std::string, std::chrono::milliseconds> busy; ///< delay of each action, by address

private:
  struct Daemon {
    consensus_actor consensus;
    std::string process;
    bool trains = true, leaves = false, proposes = false;
    std::optional<JobEnd> ended = {}; ///< end of the job that its CONSENSUS reported
    std::string gathers_at = {};      ///< address of the leader that its CONSENSUS reported last
  };

  void start(const std::string& address, bool trains) {
    auto daemon = std::make_shared<Daemon>();
    daemon->trains = trains;
    daemon->process = identity(address).process;
    daemons_[address] = daemon;
  }

  training::Voter who(const std::string& address) const {
    return {address, daemons_.at(address)->process};
  }

  void spawn_consensus(const std::string& address) {
    const auto daemon = daemons_.at(address);
    daemon->consensus = spawn_state<ConsensusState, consensus_actor>(
        system, ConsensusSetup{
                    .self = who(address),
                    .detection = 2s,
                    .connect = [this, address](const std::string& other,
                                               const consensus_actor&) { connect(address, other); },
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

  void connect(const std::string& one, const std::string& other) {
    if (lives(one) && lives(other)) {
      self->send(daemons_.at(one)->consensus, atom::introduce_v, who(other),
                 peer_actor{daemons_.at(other)->consensus});
      self->send(daemons_.at(other)->consensus, atom::introduce_v, who(one),
                 peer_actor{daemons_.at(one)->consensus});
    }
    if (lives(one))
      self->send(daemons_.at(one)->consensus, atom::introduce_v, other);
  }

  Record record_of(const std::string& leader, std::int64_t number) const {
    Record record{.number = number, .nodes = {}, .secret = fmt::format("{} {}", leader, number)};
    record.job = "job";
    std::vector<training::Voter> witnesses;
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
      membership->request(daemon->consensus, caf::infinite, atom::propose_v, record)
          .then(
              [this, daemon, record] {
                daemon->proposes = false;
                note_decided(record);
              },
              [daemon](const caf::error&) {
                daemon->proposes = false; // the nodes have chosen another leader
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

  /// Does the blocking work of a leaderless node: asks CONSENSUS again and again which node
  /// leads, and gathers when it is this one.
  caf::behavior form(caf::event_based_actor* builder, const std::string& address) {
    builder->send(builder, atom::tick_v);
    return {[this, builder, address](atom::tick) {
      if (!lives(address))
        return builder->quit();
      const auto generation = last().number;
      builder->request(daemons_.at(address)->consensus, caf::infinite, atom::follow_v, generation)
          .then(
              [this, builder, address](const std::string& leader, const Record& last) {
                if (leader == address)
                  gather(builder, address, last.number + 1);
                builder->delayed_send(builder, 100ms + 2 * busy[address], atom::tick_v);
              },
              [builder](const caf::error&) { builder->quit(); }); // the daemon is lost
    }};
  }

  /// Proposes the next generation, unless another node becomes the leader before.
  void gather(caf::event_based_actor* builder, const std::string& address, std::int64_t number) {
    const auto leads = [this, address] {
      return lives(address) && daemons_.at(address)->gathers_at == address;
    };
    builder->run_delayed(busy[address], [=, this] {
      if (!leads())
        return;
      self->send(daemons_.at(address)->consensus, atom::gather_v);
      builder->run_delayed(busy[address], [=, this] {
        if (leads())
          propose(address, record_of(address, number));
      });
    });
  }

  std::map<std::string, std::shared_ptr<Daemon>> daemons_;
};

} // namespace troupe::actors::test
