// Compares `troupe plan` with the measurements of a run on a GPU.
#include "gpu/cuda_device.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <tuple>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// ResNet-50 as it is measured on a GPU, with a quarter of the batch; on an emulated GPU, a model
/// that software can compute.
Settings job_for_device() {
  const auto device = gpu::make_cuda_device(0);
  if (!device)
    SKIP("no CUDA device: " << device.error().to_string());
  Settings common = {"devices.kind=cuda", "train.max_steps=4"};
  if (has((*device)->info().name, "Emulated"))
    return common;
  return common + Settings{"model.name=resnet50", "model.stem=imagenet",     "data.image_size=224",
                           "data.batch_size=32",  "data.eval_batch_size=32", "data.limit=128"};
}

nlohmann::json planned(const Experiment& experiment, const Settings& settings,
                       const std::string& strategy) {
  const auto ended =
      RunningProgram{experiment.command("plan", "planned", settings + Settings{"--json"})}.wait();
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const auto plan = nlohmann::json::parse(ended.out);
  for (const auto& row : plan.at("strategies"))
    if (row.at("strategy") == strategy)
      return row;
  FAIL("the plan has no " << strategy);
  return {};
}

} // namespace

/// NCCL's barrier sends a number that the plan does not count.
constexpr double of_communicator = sizeof(std::int32_t);

// The lower bound is also that of the host's plan (plan_test.cpp). It includes workspaces of
// cuDNN's plans.
TEST_CASE("a GPU needs at most the planned memory, and not much less, by kind") {
  const Experiment experiment{job_for_device()};
  // A worker with two slices has memory for fresh gradients.
  const auto [strategy, count, slices] = GENERATE(
      std::tuple{"single", 1, "1"}, std::tuple{"single", 1, "2"}, std::tuple{"zero2", 2, "2"});
  const auto settings = workers(strategy, count) +
                        Settings{"precision.mode=" + std::string{GENERATE("amp_fp16", "fp32")},
                                 std::string{"data.slices="} + slices};
  CAPTURE(settings);
  // During a search for plans, the memory in which candidates are measured counts as workspace: the
  // second plan does not include it.
  (void)planned(experiment, settings, strategy);
  const auto plan = planned(experiment, settings, strategy);
  const auto worker = experiment.completed("run", settings).summary().at("workers").at(0);
  for (const auto& [kind, bytes] : worker.at("peak_bytes_by_kind").items()) {
    INFO(kind);
    const auto most = plan.at("bytes_by_kind").at(kind).get<double>();
    CHECK(bytes.get<double>() <= most + of_communicator);
    CHECK(bytes.get<double>() >= 0.95 * most);
  }
  const auto peak = worker.at("peak_memory_bytes").get<double>(),
             total = plan.at("total_bytes").get<double>();
  CHECK(peak <= total + of_communicator);
  CHECK(peak >= 0.95 * total);
}
