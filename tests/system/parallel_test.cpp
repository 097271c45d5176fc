#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace troupe;
using namespace troupe::testing;

namespace {

// For sums of the same numbers in another order, over ten steps.
constexpr double loss_bound = 1e-5;      // relative
constexpr double parameter_bound = 1e-5; // absolute, of parameters around 0.1 to 1

Settings ddp(int workers) {
  return {"parallel.strategy=ddp", "devices.count=" + std::to_string(workers)};
}

double largest_parameter_difference(const Checkpoint& a, const Checkpoint& b) {
  double largest = 0;
  for (const auto& tensor : a.tensors) {
    const auto* other = b.find(tensor.name);
    if (other == nullptr || other->values.size() != tensor.values.size())
      return std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
      largest = std::max(largest, std::abs(double{tensor.values[i]} - double{other->values[i]}));
  }
  return largest;
}

} // namespace

TEST_CASE("ddp matches one worker that accumulates as many micro-batches") {
  const int parts = GENERATE(2, 4);
  CAPTURE(parts);
  const Experiment experiment(
      {"data.batch_size=16", "train.max_steps=10", "train.evaluate_every=0"});
  const auto alone = experiment.completed("alone", {"train.accumulate=" + std::to_string(parts)});
  const auto together = experiment.completed("together", ddp(parts));
  CHECK(together.summary().at("world_size") == parts);
  CHECK(together.summary().at("workers").size() == static_cast<std::size_t>(parts));
  CHECK(alone.losses().size() == 10);
  CAPTURE(alone.losses(), together.losses());
  CHECK(largest_difference(together.losses(), alone.losses()) < loss_bound);
  CHECK(largest_parameter_difference(together.newest_checkpoint(), alone.newest_checkpoint()) <
        parameter_bound);
}

TEST_CASE("micro-batches give the global batch's step, even if their sizes differ") {
  struct Split {
    int batch, workers, micro_batches;
  };
  const auto split = GENERATE(Split{128, 1, 4}, Split{130, 3, 2}, Split{13, 2, 5});
  const auto* const loss = GENERATE("cross_entropy", "mean_squared_error");
  CAPTURE(split.batch, split.workers, split.micro_batches, loss);
  const Experiment experiment({"model.name=mlp", "model.hidden=[16]", "data.limit=260",
                               "data.batch_size=" + std::to_string(split.batch),
                               "train.max_steps=10", "train.evaluate_every=0",
                               std::string{"model.loss="} + loss});
  const auto whole = experiment.completed("whole");
  auto settings = ddp(split.workers);
  settings.push_back("train.accumulate=" + std::to_string(split.micro_batches));
  const auto parts = experiment.completed("parts", settings);
  CAPTURE(whole.losses(), parts.losses());
  CHECK(largest_difference(parts.losses(), whole.losses()) < loss_bound);
  CHECK(parts.column<double>("accuracy") == whole.column<double>("accuracy"));
  CHECK(parts.column<int>("samples") == std::vector<int>(10, split.batch));
  CHECK(largest_parameter_difference(parts.newest_checkpoint(), whole.newest_checkpoint()) <
        parameter_bound);
}

TEST_CASE("ddp gives the same bits every time, for any bucket size") {
  const int workers = GENERATE(2, 3);
  CAPTURE(workers);
  const Experiment experiment({"data.batch_size=12", "train.max_steps=10"});
  const auto with = [&](const char* name, const char* bucket_size) {
    auto settings = ddp(workers);
    settings.push_back(std::string{"parallel.bucket_size="} + bucket_size);
    return experiment.completed(name, settings);
  };
  const auto first = with("first", "25MiB");
  const auto again = with("again", "25MiB");
  const auto small = with("small", "8KiB");
  CHECK(again.digest() == first.digest());
  CHECK(again.losses() == first.losses());
  CHECK(small.digest() == first.digest());
  CHECK(small.losses() == first.losses());
}
