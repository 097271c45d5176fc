/// Daemons that know each other's addresses from the start, so that any of them may be killed and
/// started again as it was, also the one that leads.
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
  /// `shared`: all write to one folder of runs; else each has its own, as if on a host of its own.
  Crew(const Experiment& experiment, std::string run, int nodes, Settings settings, bool shared)
      : experiment_{experiment}, run_{std::move(run)}, settings_{std::move(settings)}, shared_{
                                                                                           shared} {
    std::vector<net::Listener> taken; // at the same time, so that they are different
    for (int i = 0; i < nodes; ++i) {
      taken.push_back(*net::listen_on({"127.0.0.1", 0}));
      addresses_.push_back("127.0.0.1:" + std::to_string(taken.back().port));
    }
    nodes_.resize(addresses_.size());
  }
  /// Each on a host of its own: node 0 on host 1.
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

  /// The first leads, if nobody does.
  RunningProgram& start(int node, const Settings& more = {}) {
    auto all = settings_ + Settings{"cluster.listen=" + address(node), "cluster.join=" + list()};
    if (!shared_)
      all.push_back("run.output=" + output(node).string());
    nodes_.at(index(node)) =
        std::make_unique<RunningProgram>(on(node, experiment_.command("node", run_, all + more)));
    return (*this)[node];
  }
  /// All, in order: the job begins with the first.
  void start_all() {
    for (int node = 0; node < size(); ++node)
      start(node);
  }

  /// After the job's end: the first stays until it is asked to go.
  Ended end(int node) { return node == 0 ? terminate((*this)[0]) : (*this)[node].wait(); }

  RunFiles run(int node) const { return RunFiles{output(node) / run_}; }

  /// What a node answers to `troupe status --json`; null: nothing.
  nlohmann::json status(int node) const {
    const auto asked = RunningProgram{on(node, {TROUPE_PROGRAM, "status", address(node), "--json",
                                                "--timeout", "2s"})}
                           .wait();
    return nlohmann::json::parse(asked.out, nullptr, false);
  }
  /// The node that leads, as this one says; -1: it does not know.
  int leader(int of) const {
    const auto told = status(of);
    if (!told.is_object() || told.at("nodes").empty())
      return -1;
    const auto found =
        std::ranges::find(addresses_, told.at("nodes").at(0).at("address").get<std::string>());
    return found == addresses_.end() ? -1 : static_cast<int>(found - addresses_.begin());
  }
  /// How many take part, as this node says.
  std::size_t members(int of) const {
    const auto told = status(of);
    return told.is_object() ? told.at("nodes").size() : 0;
  }

private:
  static std::size_t index(int node) { return static_cast<std::size_t>(node); }
  std::filesystem::path output(int node) const {
    return shared_ ? experiment_.output() : experiment_ / ("node" + std::to_string(node));
  }
  /// On the node's host.
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
  const Namespaces* hosts_ = nullptr; ///< none: all on this one
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<RunningProgram>> nodes_;
};

} // namespace troupe::testing
