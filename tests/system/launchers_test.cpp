// Tests daemons that torchrun or srun start: the launcher's variables are enough to train a job.
#include "tests/support/certificates.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/namespaces.hpp"
#include "tests/system/services.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <sstream>

using namespace troupe;
using namespace troupe::testing;

namespace {

using Variables = std::vector<std::string>;

/// small.yaml as a user would write it for a launcher: without listen addresses.
std::filesystem::path config_for_launchers(const Experiment& experiment) {
  std::istringstream small{read_bytes(Experiment::small_config())};
  std::string text;
  for (std::string line; std::getline(small, line);)
    if (!line.starts_with("cluster:"))
      text += line + "\n";
  write_bytes(experiment / "job.yaml", text);
  return experiment / "job.yaml";
}

/// A job's processes, started as by a launcher: all with the same command.
class Launched {
public:
  Launched(const Experiment& scratch, const std::string& launcher, Settings settings)
      : experiment_{{}, config_for_launchers(scratch)}, launcher_{launcher}, settings_{std::move(
                                                                                 settings)} {}

  /// `under`: a command that starts the process elsewhere.
  RunningProgram& start(const Variables& variables, const std::vector<std::string>& under = {}) {
    const auto folder = experiment_ / ("process " + std::to_string(processes_.size()));
    return processes_.emplace_back(
        under + Settings{"env"} + variables +
        experiment_.command(
            "node", "job",
            settings_ + Settings{"--launcher=" + launcher_, "run.output=" + folder.string()}));
  }
  /// Waits until all processes end by themselves. Returns the run of the first.
  RunFiles completed() {
    for (auto& process : processes_) {
      const auto ended = process.wait();
      INFO(ended.out << ended.err);
      CHECK(ended.code == 0);
    }
    return RunFiles{experiment_ / "process 0" / "job"};
  }
  Ended says(const std::string& launcher, const Variables& variables, const Settings& more = {}) {
    return RunningProgram{
        Settings{"env"} + variables +
        experiment_.command("node", "job", settings_ + Settings{"--launcher=" + launcher} + more)}
        .wait();
  }
  const Experiment& experiment() const { return experiment_; }

private:
  Experiment experiment_;
  std::string launcher_;
  Settings settings_;
  std::list<RunningProgram> processes_;
};

std::string variable(const std::string& name, std::int64_t value) {
  return name + "=" + std::to_string(value);
}

/// Variables of a process on a host with three processes.
Variables by_torchrun(int rank, const std::string& port) {
  return {variable("RANK", rank),
          "WORLD_SIZE=3",
          variable("LOCAL_RANK", rank),
          "LOCAL_WORLD_SIZE=3",
          "GROUP_RANK=0",
          "GROUP_WORLD_SIZE=1",
          "MASTER_ADDR=localhost",
          "MASTER_PORT=" + port,
          "TORCHELASTIC_RUN_ID=none",
          "TORCHELASTIC_USE_AGENT_STORE=False",
          "OMP_NUM_THREADS=1"};
}

/// Variables of two hosts, the first of which has two processes.
Variables by_slurm(int rank) {
  const int host = rank / 2;
  return {variable("SLURM_PROCID", rank),
          variable("SLURM_LOCALID", rank % 2),
          variable("SLURM_NODEID", host),
          variable("SLURM_JOB_ID", ::getpid()),
          "SLURM_STEP_ID=0",
          "SLURM_NTASKS=3",
          "SLURM_NNODES=2",
          "SLURM_JOB_NODELIST=127.0.0.[1-3]",
          "SLURM_STEP_NODELIST=127.0.0.[1-2]",
          "SLURM_STEP_NUM_NODES=2",
          "SLURM_STEP_NUM_TASKS=3",
          "SLURM_STEP_TASKS_PER_NODE=2,1",
          "SLURMD_NODENAME=127.0.0." + std::to_string(host + 1)};
}

std::string free_port() {
  return std::to_string(parse_endpoint(free_address())->port);
}

/// The job of these processes, for any launcher.
const Settings job = {"parallel.strategy=ddp", "data.batch_size=12", "data.limit=96",
                      "data.eval_batch_size=12"};

std::string default_digest(const Experiment& experiment) {
  Daemons daemons{experiment, "usual", for_nodes(3, "ddp")};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  CHECK(daemons.join().wait().code == 0);
  CHECK(second.wait().code == 0);
  CHECK(stop(leader).code == 0);
  return experiment.run("usual").digest();
}

} // namespace

TEST_CASE("processes started by torchrun train a job and end with it") {
  const Experiment experiment;
  Launched launched{experiment, "torchrun", job};
  const auto port = free_port();
  for (const int rank : {0, 1, 2})
    launched.start(by_torchrun(rank, port));
  const auto run = launched.completed();
  CHECK(run.summary().at("status") == "completed");
  CHECK(run.summary().at("world_size") == 3);
  CHECK(run.digest() == default_digest(experiment));
}

TEST_CASE("processes started by srun train a job and end with it") {
  const Experiment experiment;
  Launched launched{experiment, "auto", job};
  for (const int rank : {0, 1, 2})
    launched.start(by_slurm(rank));
  const auto run = launched.completed();
  CHECK(run.summary().at("status") == "completed");
  CHECK(run.digest() == default_digest(experiment));
}

TEST_CASE("processes on three hosts find each other by torchrun's variables, over TLS") {
  const Namespaces hosts{3};
  if (!hosts.made())
    SKIP("no network namespaces here: they need root, and iproute2");
  const Certificates certificates;
  const Experiment experiment;
  Launched launched{experiment, "torchrun", job + settings_of(certificates.of("node"))};
  const auto leader = parse_endpoint(hosts.at(1, 29500));
  for (const int rank : {0, 1, 2})
    launched.start({variable("RANK", rank), "WORLD_SIZE=3", "LOCAL_RANK=0", "LOCAL_WORLD_SIZE=1",
                    variable("GROUP_RANK", rank), "MASTER_ADDR=" + leader->host,
                    "MASTER_PORT=29500", "TORCHELASTIC_USE_AGENT_STORE=True"},
                   hosts.on(rank + 1, {}));
  const auto run = launched.completed();
  CHECK(run.summary().at("status") == "completed");
  CHECK(run.summary().at("world_size") == 3);
}

TEST_CASE("without --launcher a launcher's variables are ignored") {
  const Experiment experiment;
  auto node = RunningProgram{Settings{"env"} + by_torchrun(1, "29500") + by_slurm(2) +
                             experiment.command("node", "alone")};
  CHECK(node.prints("alone: completed after 40 steps (5 epochs)"));
  CHECK(stop(node).code == 0);
}

TEST_CASE("inconsistent launcher settings are reported with exit code 2") {
  const Experiment experiment;
  Launched launched{experiment, "torchrun", job};
  const auto is_told = [&](const Ended& ended, const std::string& why) {
    CAPTURE(ended.err);
    CHECK(ended.code == 2);
    CHECK(has(ended.err, why));
  };
  const auto first = by_torchrun(0, "29500");
  is_told(launched.says("torchrun", {"RANK=0"}), "--launcher torchrun: WORLD_SIZE");
  is_told(launched.says("auto", {"RANK=0"}), "neither torchrun's variables");
  is_told(launched.says("torchrun", first + Variables{"RANK=3"}),
          "RANK is \"3\"; allowed: a whole number from 0 to 2");
  is_told(launched.says("slurms", first), "slurms");
  is_told(launched.says("torchrun", first, {"--join=127.0.0.1:1"}), "--join");
  is_told(launched.says("torchrun", first, {"cluster.listen=127.0.0.1:7401"}),
          "--set cluster.listen=127.0.0.1:7401: cluster.listen: \"127.0.0.1:7401\" is one port, "
          "but this host runs 3 processes; allowed: leave it out");
  is_told(launched.says("torchrun", first, {"metrics.listen=127.0.0.1:9401"}), "metrics.listen");
  is_told(launched.says("torchrun", first, {"cluster.listen=127.0.0.1:0"}),
          "takes any free port, which the other processes cannot know");
  const Variables elsewhere = {"MASTER_ADDR=10.0.0.1", "LOCAL_WORLD_SIZE=1"};
  is_told(launched.says("torchrun", first + elsewhere, {"cluster.listen=127.0.0.1:7401"}),
          "is on loopback, but the leader is on 10.0.0.1");
  is_told(launched.says("torchrun", first + elsewhere),
          "MASTER_ADDR: cluster.listen: 0.0.0.0:29500 can be reached from other hosts, but there "
          "are no certificates");
}

TEST_CASE("config show reports a launcher's variables, and the config takes precedence") {
  const Experiment experiment;
  const auto config = config_for_launchers(experiment).string();
  const auto shown = RunningProgram{Settings{"env"} + by_torchrun(1, "29500") +
                                    Settings{TROUPE_PROGRAM, "config", "show", config, "--launcher",
                                             "torchrun", "--set", "parallel.strategy=ddp", "--set",
                                             "data.batch_size=12", "--set", "cluster.nodes.min=2"}}
                         .wait();
  CAPTURE(shown.err);
  REQUIRE(shown.code == 0);
  CHECK(has(shown.out, "\n  join: [\"localhost:29500\"]  # MASTER_ADDR\n"));
  CHECK(has(shown.out, "\n  nodes: {min: 2, max: 3}\n"));
  CHECK(has(shown.out, "\n  count: 1\n")); // from small.yaml
}
