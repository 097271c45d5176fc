/// Daemons of one machine that train one job.
#pragma once

#include "tests/system/experiment.hpp"

#include <csignal>
#include <list>
#include <string>
#include <utility>

namespace troupe::testing {

/// A dead node is detected within two seconds.
inline const Settings quick_timeouts = {"cluster.timeouts.detection=2s",
                                        "cluster.timeouts.collective=20s",
                                        "cluster.timeouts.quorum=200s"};

/// small.yaml with batches for three workers.
inline Settings for_nodes(int nodes, const std::string& strategy) {
  const auto count = std::to_string(nodes);
  return quick_timeouts + Settings{"parallel.strategy=" + strategy, "data.batch_size=12",
                                   "data.limit=96", "data.eval_batch_size=12",
                                   "cluster.nodes=" + count};
}

/// Daemons that train one job; each has a separate folder for runs, as on a separate host.
class Daemons {
public:
  Daemons(const Experiment& experiment, std::string run, Settings settings)
      : experiment_{experiment}, run_{std::move(run)}, settings_{std::move(settings)} {}

  /// `under`: a command that starts the daemon, such as {"env", "NAME=VALUE"}.
  RunningProgram& lead(const Settings& more = {}, const std::vector<std::string>& under = {}) {
    auto& leader =
        programs_.emplace_back(under + experiment_.command("node", run_, settings_ + more));
    address_ = daemon_address(leader);
    return leader;
  }
  RunningProgram& join(const Settings& more = {}, const std::vector<std::string>& under = {}) {
    const auto folder = experiment_ / ("node" + std::to_string(programs_.size()));
    return programs_.emplace_back(
        under +
        experiment_.command(
            "node", run_,
            settings_ + Settings{"--join=" + address_, "run.output=" + folder.string()} + more));
  }
  const std::string& address() const { return address_; }

private:
  const Experiment& experiment_;
  std::string run_;
  Settings settings_;
  std::string address_;
  std::list<RunningProgram> programs_;
};

/// Asks one node to leave and waits for its end.
inline Ended terminate(RunningProgram& node) {
  node.send(SIGTERM);
  return node.wait();
}

/// Ends the job on all nodes. A node that may begin a job stays after its end until it is asked to
/// stop.
inline Ended stop(RunningProgram& node) {
  RunningProgram{{TROUPE_PROGRAM, "stop", daemon_address(node)}}.wait();
  return node.wait();
}

} // namespace troupe::testing
