/// A job whose weights show how often each sample was applied.
#pragma once

#include "tests/support/safetensors_file.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace troupe::testing {

/// Sample i has the value 1 in feature i and the target 1. Each time it is applied, it halves the
/// distance of weight i from 1, and changes no other weight. So the weights equal those of an
/// undisturbed run, bit for bit, when each sample was applied equally often.
class Counting : public Experiment {
public:
  static constexpr int samples = 960;

  Counting()
      : Experiment{{"data.dataset=csv",
                    "data.table.standardize=false",
                    "data.table.targets=[y]",
                    "data.augment=[]",
                    "data.batch_size=6",
                    "data.slices=6",
                    "data.eval_batch_size=6",
                    "model.name=linear",
                    "model.bias=false",
                    "model.num_classes=1",
                    "model.loss=mean_squared_error",
                    "train.optimizer.lr=1.5",
                    "train.optimizer.momentum=0",
                    "train.optimizer.momentum.nesterov=false",
                    "train.optimizer.weight_decay=0",
                    "train.schedule.name=constant",
                    "train.schedule.warmup=0",
                    "train.epochs=20",
                    "train.evaluate_every=0",
                    "checkpoint.every=40 steps"}} {
    std::vector<std::string> names;
    names.reserve(samples);
    for (int i = 0; i < samples; ++i)
      names.push_back(fmt::format("f{}", i));
    for (const char* file : {"train.csv", "test.csv"}) {
      std::ofstream out{*this / file};
      out << fmt::format("{},y\n", fmt::join(names, ","));
      for (int i = 0; i < samples; ++i) {
        for (int feature = 0; feature < samples; ++feature)
          out << (feature == i ? "1," : "0,");
        out << "1\n";
      }
    }
    own = {"data.root=" + (*this / "").string(),
           fmt::format("data.table.features=[{}]", fmt::join(names, ","))};
  }
  Settings own;
};

/// A worker multiplies a sample's effect by the number of workers, and the mean divides it by that
/// number: exactly, for 1, 2 or 4 workers.
inline const Settings exact = {"data.batch_size=8", "data.slices=8", "data.eval_batch_size=8",
                               "train.optimizer.lr=2"};

/// Starts from zeros: then all weights are sums of few powers of two, and every mean of them is
/// exact.
class ExactCounting : public Counting {
public:
  ExactCounting() {
    const std::vector<float> zeros(samples);
    const auto file = *this / "zeros.safetensors";
    REQUIRE(write_safetensors(
        file, {}, {{"fc.weight", "F32", {1, samples}, std::as_bytes(std::span{zeros})}}));
    own = own + exact + Settings{"model.pretrained=" + file.string()};
  }
};

/// Time after which a joining node takes part.
inline const std::string soon_stable = "cluster.timeouts.admission=500ms";

struct Losses {
  int most = 0;             ///< nodes to lose
  std::int64_t steps = 1;   ///< from one loss to the next
  int one_leaves_after = 1; ///< number of kills after which one node is asked to leave
};

/// Repeats until the job is done: a node joins, works, and is killed or leaves; another one
/// replaces it. Returns how many nodes were lost.
inline int lose_nodes(Daemons& daemons, RunningProgram& leader, const RunFiles& run,
                      const Losses& losses) {
  auto* last = &daemons.join();
  int lost = 0;
  for (; lost < losses.most && leader.running() && !run.has("summary.json"); ++lost) {
    last->prints("generation "); // the node takes part, or the job has ended
    const auto next = run.steps_done() + losses.steps;
    becomes_true([&] { return run.steps_done() >= next || run.has("summary.json"); });
    if (lost % (losses.one_leaves_after + 1) == losses.one_leaves_after)
      last->send(SIGTERM);
    else
      last->kill();
    std::this_thread::sleep_for(std::chrono::milliseconds{50});
    last = &daemons.join();
  }
  return lost;
}

/// Checks that at most two nodes, one of which is lost every hundred steps, get the weights of a
/// single process.
inline void check_counts_with_losses(const ExactCounting& experiment, const Settings& more) {
  const auto alone = experiment.completed("alone", experiment.own).digest();
  Daemons daemons{experiment, "nodes",
                  quick_timeouts + experiment.own + more +
                      Settings{"cluster.nodes.min=1", "cluster.nodes.max=2", soon_stable}};
  auto& leader = daemons.lead();
  const auto run = experiment.run("nodes");
  CHECK(lose_nodes(daemons, leader, run, {.most = 8, .steps = 101, .one_leaves_after = 3}) > 2);
  REQUIRE(leader.prints("nodes: completed"));
  CHECK(stop(leader).code == 0);
  CHECK(run.column<std::int64_t>("step") == all_steps(2400));
  CHECK(run.digest() == alone);
}

} // namespace troupe::testing
