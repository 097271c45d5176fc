/// Daemons that know each other's addresses from the start, so that any of them, also the leader,
/// may be killed and restarted unchanged.
#pragma once

#include "core/net/socket.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/experiment.hpp"
#include "tests/system/namespaces.hpp"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>
#include <vector>

namespace troupe::testing {

class Crew {
public:
  /// `shared`: all write to one folder of runs; otherwise each has a separate folder, as on a
  /// separate host.
  Crew(const Experiment& experiment, std::string run, int nodes, Settings settings, bool shared)
      : experiment_{experiment}, run_{std::move(run)}, settings_{std::move(settings)}, shared_{
                                                                                           shared} {
    std::vector<net::Listener> taken; // held together, so that the ports differ
    for (int i = 0; i < nodes; ++i) {
      taken.push_back(*net::listen_on({"127.0.0.1", 0}));
      addresses_.push_back("127.0.0.1:" + std::to_string(taken.back().port));
    }
    nodes_.resize(addresses_.size());
  }
  /// Places each node on a separate host: node 0 on host 1.
  Crew(const Experiment& experiment, std::string run, const Namespaces& hosts, Settings settings,
       bool shared)
      : experiment_{experiment}, run_{std::move(run)}, settings_{std::move(settings) +
                                                                 Settings{"cluster.insecure=true"}},
        shared_{shared}, hosts_{&hosts} {
    for (int host = 1; host <= hosts.count(); ++host)
      addresses_.push_back(hosts.at(host, 7401));
    nodes_.resize(addresses_.size());
  }

  int size() const { return static_cast<int>(nodes_.size()); }
  bool is_shared() const { return shared_; }
  const std::string& address(int node) const { return addresses_.at(index(node)); }
  RunningProgram& operator[](int node) { return *nodes_.at(index(node)); }

  /// Starts a node. The first node leads if there is no leader.
  RunningProgram& start(int node, const Settings& more = {}) {
    auto all = settings_ + Settings{"cluster.listen=" + address(node), "cluster.join=" + list()};
    if (!shared_)
      all.push_back("run.output=" + output(node).string());
    nodes_.at(index(node)) =
        std::make_unique<RunningProgram>(on(node, experiment_.command("node", run_, all + more)));
    return (*this)[node];
  }
  /// Starts all nodes in order: the job begins with the first.
  void start_all() {
    for (int node = 0; node < size(); ++node)
      start(node);
  }

  /// Waits for a node's end after the job's end: the first node stays until it is asked to end.
  Ended end(int node) { return node == 0 ? terminate((*this)[0]) : (*this)[node].wait(); }

  RunFiles run(int node) const { return RunFiles{output(node) / run_}; }

  /// Returns a node's answer to `troupe status --json`; null when there is none.
  nlohmann::json status(int node) const {
    const auto asked = RunningProgram{on(node, {TROUPE_PROGRAM, "status", address(node), "--json",
                                                "--timeout", "2s"})}
                           .wait();
    return nlohmann::json::parse(asked.out, nullptr, false);
  }
  /// Returns the leader that this node reports; -1 when it knows none.
  int leader(int of) const {
    const auto told = status(of);
    if (!told.is_object() || told.at("nodes").empty())
      return -1;
    const auto found =
        std::ranges::find(addresses_, told.at("nodes").at(0).at("address").get<std::string>());
    return found == addresses_.end() ? -1 : static_cast<int>(found - addresses_.begin());
  }
  /// Returns how many nodes take part, as this node reports.
  std::size_t members(int of) const {
    const auto told = status(of);
    return told.is_object() ? told.at("nodes").size() : 0;
  }

private:
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }
  std::filesystem::path output(int node) const {
    return shared_ ? experiment_.output() : experiment_ / ("node" + std::to_string(node));
  }
  /// Returns the command to run on the node's host.
  std::vector<std::string> on(int node, std::vector<std::string> command) const {
    return hosts_ != nullptr ? hosts_->on(node + 1, std::move(command)) : command;
  }
  std::string list() const {
    std::string all;
    for (const auto& address : addresses_)
      all += (all.empty() ? "[" : ", ") + address;
    return all + "]";
  }

  const Experiment& experiment_;
  std::string run_;
  Settings settings_;
  bool shared_;
  const Namespaces* hosts_ = nullptr; ///< null: all on this host
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<RunningProgram>> nodes_;
};

} // namespace troupe::testing
