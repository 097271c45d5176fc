// Tests resuming from a checkpoint that only the leader has, over a slow connection.
#include "tests/system/experiment.hpp"
#include "tests/system/slow_link.hpp"

#include <catch2/catch_test_macros.hpp>

#include <csignal>
#include <cstdint>

#include <fmt/format.h>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// A tensor takes twice the detection timeout, and a chunk most of it: 768 KiB, and its momentum.
constexpr double bytes_per_second = 128 << 10;

const Settings large_tensors = {"model={name: mlp, hidden: [1024]}",
                                "train.evaluate_every=0",
                                "checkpoint.every=1000 epochs",
                                "cluster.nodes=2",
                                "parallel.strategy=ddp",
                                "cluster.timeouts.detection=3s"};

/// Trains the first steps and leaves a checkpoint.
bool trained_alone(const Experiment& experiment) {
  return experiment
             .train("job", {"train.max_steps=4", "cluster.nodes=1", "parallel.strategy=single"})
             .code == 0;
}

/// A job that continues after four steps, on a leader and a node with a slow connection.
struct SlowJob {
  Experiment experiment{large_tensors};
  bool has_checkpoint = trained_alone(experiment);
  RunningProgram leader = experiment.start_node("job", {"train.max_steps=8"});
  // The node listens on one address and advertises another.
  std::uint16_t port = net::listen_on({"127.0.0.2", 0}).value().port;
  SlowLink link{"127.0.0.3", {"127.0.0.2", port}, bytes_per_second};
  RunningProgram second = experiment.start_node(
      "job",
      {"train.max_steps=8", "--join=" + daemon_address(leader), "cluster.listen=127.0.0.2:0",
       "cluster.listen.advertise=127.0.0.3:7402", fmt::format("cluster.listen.data_port={}", port),
       "run.output=" + (experiment / "second").string()});
};

Ended ended_by_us(RunningProgram& leader) {
  leader.send(SIGTERM);
  return leader.wait();
}

} // namespace

TEST_CASE("a node fetches the leader's checkpoint over a slow connection and reports progress",
          "[long]") {
  SlowJob job;
  REQUIRE(job.has_checkpoint);
  const auto followed = job.second.wait();
  INFO(followed.out << followed.err);
  CHECK(followed.code == 0);
  CHECK(has(followed.out, "fetching the checkpoint ("));
  CHECK(has(followed.out, "fetching the checkpoint: "));
  const auto led = ended_by_us(job.leader);
  INFO(led.out << led.err);
  CHECK(led.code == 0);
  const auto summary = job.experiment.run("job").summary();
  CHECK(summary.at("status") == "completed");
  CHECK(summary.at("steps") == 8);
}

TEST_CASE("a node asked to stop while it fetches the checkpoint leaves, and the job waits") {
  SlowJob job;
  REQUIRE(job.second.prints("fetching the checkpoint: "));
  job.second.send(SIGTERM);
  const auto followed = job.second.wait(30s);
  INFO(followed.out << followed.err);
  CHECK(followed.code == 0);
  REQUIRE(job.leader.prints("waiting for 1 more node (1 of 2"));
  const auto led = ended_by_us(job.leader);
  INFO(led.out << led.err);
  CHECK(led.code == 0);
  CHECK_FALSE(has(led.err, "error"));
}
