// Tests that with model.sync_batch_norm any number of workers gives the results of one worker with
// the whole batch, up to rounding.
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <sstream>

using namespace troupe;
using namespace troupe::testing;

namespace {

Settings synchronized(const Settings& more = {}) {
  return Settings{"model.sync_batch_norm=true", "data.batch_size=12", "train.max_steps=10",
                  "train.evaluate_every=0", "train.optimizer.lr=0.01"} +
         more;
}

struct Distance {
  double losses, parameters, statistics;

  bool within(const Distance& bound) const {
    return losses < bound.losses && parameters < bound.parameters && statistics < bound.statistics;
  }
};

/// Returns the norm of the differences relative to the norm: of all parameters together, and of the
/// running statistic with the largest ratio.
Distance distance(const Checkpoint& a, const Checkpoint& b, double losses) {
  Distance found{losses, 0, 0};
  double parameters = 0, all = 0;
  for (const auto& tensor : a.tensors) {
    const auto* const other = b.find(tensor.name);
    REQUIRE(other);
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      difference += std::pow(double{tensor.values[i]} - double{other->values[i]}, 2);
      norm += std::pow(double{other->values[i]}, 2);
    }
    if (has(tensor.name, ".running_")) {
      found.statistics = std::max(found.statistics, std::sqrt(difference / norm));
    } else if (!has(tensor.name, "optimizer.")) {
      parameters += difference;
      all += norm;
    }
  }
  found.parameters = std::sqrt(parameters / all);
  return found;
}

/// Returns a PNG of one grey pixel.
std::string small_png() {
  const std::string_view hex =
      "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a4944415478da63"
      "68000000820081da45083b0000000049454e44ae426082";
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16));
  return bytes;
}

/// `bound`: the largest relative difference after ten steps. Another order of a sum rounds
/// differently, and training amplifies that: in an untrained ResNet-50 to 1e-3 of its loss, even
/// with a learning rate of 1e-6 (as one worker with two threads shows, compared with one thread).
struct Model {
  const char* name;
  Settings settings;
  Distance bound;
};

} // namespace

TEST_CASE("any number of workers matches one worker with the whole batch", "[long]") {
  const auto model = GENERATE(Model{"resnet20", {}, {1e-5, 1e-5, 1e-5}},
                              Model{"resnet50",
                                    {"model.name=resnet50", "model.width=16", "data.image_size=16",
                                     "train.optimizer.lr=1e-6"},
                                    {1e-2, 1e-5, 1e-2}});
  CAPTURE(model.name);
  const Experiment experiment{synchronized(model.settings)};
  const auto completed = [&](const std::string& name, int seed, const Settings& more) {
    return experiment.completed(name + "_" + std::to_string(seed),
                                more + Settings{"run.seed=" + std::to_string(seed)});
  };
  // Rounding decides about a relu whose input is almost zero, and ten steps amplify a single such
  // input to 1e-4 and more, in some runs to 2e-2. That happens with some seeds; a bug would fail
  // with all seeds.
  constexpr std::array seeds{5, 2, 7, 9, 11};
  std::map<int, RunFiles> alone;
  for (const int seed : seeds)
    alone.emplace(seed, completed("alone", seed, {"model.sync_batch_norm=false"}));
  const std::vector<std::pair<std::string, int>> divided = {
      {"ddp", 2}, {"ddp", 3}, {"zero3", 1}, {"zero3", 4}};
  for (const auto& [strategy, count] : divided) {
    std::ostringstream found;
    const bool same =
        std::ranges::any_of(seeds, [&, &strategy = strategy, count = count](int seed) {
          const auto together =
              completed(strategy + std::to_string(count), seed, workers(strategy, count));
          const auto& one = alone.at(seed);
          REQUIRE(together.losses().size() == 10);
          const auto far = distance(together.newest_checkpoint(), one.newest_checkpoint(),
                                    largest_difference(together.losses(), one.losses()));
          found << "seed " << seed << ": losses " << far.losses << ", parameters " << far.parameters
                << ", statistics " << far.statistics << '\n';
          return far.within(model.bound);
        });
    CAPTURE(strategy, count, found.str());
    CHECK(same);
  }
  // Without synchronization the results differ, by far more than rounding explains.
  const auto apart =
      completed("apart", 7, workers("ddp", 4) + Settings{"model.sync_batch_norm=false"});
  const auto far = distance(apart.newest_checkpoint(), alone.at(7).newest_checkpoint(),
                            largest_difference(apart.losses(), alone.at(7).losses()));
  CHECK(far.losses > std::max(0.05, 5 * model.bound.losses));
  CHECK(far.statistics > 5 * model.bound.statistics);
}

TEST_CASE("every strategy has the same synchronized statistics, bit for bit") {
  const Experiment experiment{synchronized({"train.accumulate=2"})};
  const auto ddp = experiment.completed("ddp", workers("ddp", 3));
  check_same(experiment.completed("again", workers("ddp", 3)), ddp);
  for (const auto* strategy : {"dp", "zero1", "zero2", "zero3"}) {
    CAPTURE(strategy);
    check_same(experiment.completed(strategy, workers(strategy, 3)), ddp);
  }
}

TEST_CASE("synchronized batch norm in every precision, and by the interpreter") {
  struct Case {
    const char* setting;
    double bound;
  };
  const auto& [setting, bound] =
      GENERATE(Case{"precision.mode=amp_bf16", 3e-2}, Case{"precision.mode=amp_fp16", 1e-2},
               Case{"devices.engine=interpreter", 1e-4});
  CAPTURE(setting);
  const Experiment experiment{synchronized({setting, "train.max_steps=4"})};
  const auto alone = experiment.completed("alone");
  const auto together = experiment.completed("together", workers("ddp", 2));
  CHECK(largest_difference(together.losses(), alone.losses()) < bound);
}

TEST_CASE("recomputed activations use the statistics of all workers") {
  const Experiment experiment{synchronized(workers("ddp", 2))};
  const auto plain = experiment.completed("plain");
  check_same(experiment.completed("again", {"train.recompute=block"}), plain);
}

TEST_CASE("a run with synchronized batch norm resumes bit for bit") {
  const Experiment experiment{synchronized(workers("zero2", 3))};
  const auto whole = experiment.completed("whole");
  experiment.completed("parts", {"train.max_steps=4"});
  check_same(experiment.completed("parts"), whole);
}

TEST_CASE("a worker that waits for others' statistics ends when one of them fails") {
  const Experiment experiment;
  for (const char* name : {"train/cat", "train/dog"})
    std::filesystem::create_directories(experiment / name);
  write_bytes(experiment / "train/cat/1.png", "this is no image");
  write_bytes(experiment / "train/dog/1.png", small_png());
  const auto begin = std::chrono::steady_clock::now();
  const auto ended = experiment.train(
      "small", workers("ddp", 2) +
                   Settings{"model.sync_batch_norm=true", "data.batch_size=2",
                            "data.dataset=image_folder", "model.num_classes=2",
                            "data.root=" + (experiment / "").string(), "train.evaluate_every=0",
                            "cluster.timeouts.collective=4min", "cluster.timeouts.drain=10min"});
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "/cat/1.png"));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::minutes{1});
}
