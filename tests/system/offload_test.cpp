// Tests parallel.offload: the bits of a run without it, less memory on the device, and the host's
// optimizer overlapping backward.
#include "tests/system/experiment.hpp"
#include "tests/system/timeline.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <utility>

using namespace troupe;
using namespace troupe::testing;

namespace {

const Settings adam = {"train.optimizer.name=adam", "train.optimizer.lr=0.001",
                       "train.optimizer.momentum.nesterov=false"};
const Settings adamw = {"train.optimizer.name=adamw", "train.optimizer.lr=0.001",
                        "train.optimizer.momentum.nesterov=false"};

/// Returns the peak bytes of rank 0 of a kind; of all kinds when `kind` is empty.
double peak(const RunFiles& run, const std::string& kind) {
  const auto worker = run.summary().at("workers").at(0);
  return kind.empty() ? worker.at("peak_memory_bytes").get<double>()
                      : worker.at("peak_bytes_by_kind").at(kind).get<double>();
}

struct Mode {
  std::string strategy;
  int workers;
  std::string offload;
};

} // namespace

TEST_CASE("a run with offloaded state has the same bits as one without", "[long]") {
  const auto& [strategy, count, offload] = GENERATE(
      Mode{"single", 1, "optimizer"}, Mode{"fsdp", 1, "parameters"}, Mode{"ddp", 2, "optimizer"},
      Mode{"zero1", 2, "optimizer"}, Mode{"zero2", 2, "optimizer"}, Mode{"zero3", 2, "optimizer"},
      Mode{"fsdp", 2, "parameters"}, Mode{"hsdp", 4, "parameters"});
  const auto optimizer = GENERATE(Settings{}, adam, adamw);
  CAPTURE(strategy, count, offload, optimizer);
  const Experiment experiment(
      Settings{"train.max_steps=6", "train.evaluate_every=1", "parallel.bucket_size=64KiB"} +
      optimizer + workers(strategy, count));
  const auto plain = experiment.completed("plain");
  for (const auto& [name, ratio] : {std::pair{"all", "1"}, std::pair{"part", "0.4"}}) {
    CAPTURE(ratio);
    check_same(experiment.completed(name, {"parallel.offload={" + offload + ": " + ratio + "}"}),
               plain);
  }
}

TEST_CASE("clipping, loss scaling, micro-batches and 16-bit types work with offload", "[long]") {
  const auto mode = GENERATE(
      Settings{"train.clip_grad=0.5"},
      Settings{"precision.mode=amp_fp16", "train.clip_grad=0.5",
               "precision.loss_scale.initial=1e9"},
      Settings{"precision.mode=bf16"},
      Settings{"train.accumulate=2", "parallel.no_sync=false", "train.clip_grad.value=0.01"},
      Settings{"parallel.mixed_precision.reduce=bf16", "parallel.prefetch=0"});
  const auto& [strategy, count, offload] =
      GENERATE(Mode{"single", 1, "optimizer"}, Mode{"zero1", 2, "optimizer"},
               Mode{"fsdp", 2, "{target: parameters, ratio: 0.6}"});
  CAPTURE(mode, strategy, offload);
  const Experiment experiment(Settings{"train.max_steps=8", "train.evaluate_every=0",
                                       "data.batch_size=8", "model.name=mlp",
                                       "parallel.bucket_size=64KiB"} +
                              adam + mode + workers(strategy, count));
  const auto plain = experiment.completed("plain");
  const auto offloaded = experiment.completed("offloaded", {"parallel.offload=" + offload});
  check_same(offloaded, plain);
  if (mode.front() != "precision.mode=amp_fp16")
    return;
  CHECK(plain.column<int>("skipped_steps").back() > 0);
  CHECK(offloaded.column<int>("skipped_steps") == plain.column<int>("skipped_steps"));
  CHECK(offloaded.column<double>("loss_scale") == plain.column<double>("loss_scale"));
}

TEST_CASE("a checkpoint does not depend on where its state was") {
  const Settings offload = {"parallel.offload=parameters"}, none = {"parallel.offload=none"};
  const bool begins = GENERATE(false, true);
  CAPTURE(begins);
  const Experiment experiment(Settings{"data.batch_size=12", "checkpoint.keep=9", "train.epochs=2",
                                       "checkpoint.every=4 steps"} +
                              adam + workers("fsdp", 2));
  const auto whole = experiment.completed("whole", none);
  experiment.completed("parts", Settings{"train.max_steps=4"} + (begins ? offload : none));
  check_same(experiment.completed("parts", begins ? none : offload), whole);
}

TEST_CASE("offload moves the predicted bytes from the device to the host") {
  const auto& [strategy, count, target] =
      GENERATE(Mode{"single", 1, "optimizer"}, Mode{"fsdp", 1, "parameters"},
               Mode{"zero2", 2, "optimizer"}, Mode{"fsdp", 2, "parameters"});
  const std::string ratio = GENERATE("1", "0.5");
  CAPTURE(strategy, target, ratio);
  const Experiment experiment(Settings{"train.max_steps=2", "data.batch_size=8"} + adam +
                              workers(strategy, count));
  const Settings offload = {"parallel.offload={" + target + ": " + ratio + "}"};
  const auto plan = [&](const Settings& settings, const std::string& name) {
    const auto ended =
        RunningProgram{experiment.command("plan", "planned", settings + Settings{"--json"})}.wait();
    REQUIRE(ended.code == 0);
    const auto rows = nlohmann::json::parse(ended.out).at("strategies");
    const auto row = std::ranges::find_if(rows, [&](auto& r) { return r.at("strategy") == name; });
    REQUIRE(row != rows.end());
    return *row;
  };
  const auto planned = plan(offload, strategy + "_offload");
  const auto offloaded = experiment.completed("offloaded", offload);
  for (const char* kind : {"parameters", "gradients", "optimizer", "communication", "pinned"}) {
    INFO(kind);
    CHECK(planned.at("bytes_by_kind").at(kind) == peak(offloaded, kind));
  }
  CHECK(planned.at("host_bytes") == peak(offloaded, "pinned"));
  CHECK(planned.at("total_bytes").get<double>() ==
        Catch::Approx(peak(offloaded, "")).epsilon(0.05));
  if (strategy == "fsdp" && count == 1)
    return; // without offloading it divides nothing
  const auto before = plan({}, strategy == "fsdp" ? "zero3" : strategy);
  const auto plain = experiment.completed("plain");
  CHECK(peak(plain, "pinned") == 0);
  CHECK(peak(plain, "") - peak(offloaded, "") ==
        before.at("total_bytes").get<double>() - planned.at("total_bytes").get<double>());
}

TEST_CASE("a timeline shows the host's optimizer during backward") {
  const Experiment experiment({"parallel.strategy=fsdp", "parallel.offload=parameters",
                               "devices.count=2", "train.max_steps=30", "data.image_size=32",
                               "train.evaluate_every=0"});
  const auto file = experiment / "trace.json";
  experiment.completed("traced", {"--trace=" + file.string()});
  const Timeline timeline{file};
  double beside_backward = 0; // microseconds
  for (const std::string rank : {"rank 0", "rank 1"}) {
    auto backward = timeline.spans(rank + "/compute", "compute");
    std::erase_if(backward, [](const auto& span) {
      return !span.at("name").template get<std::string>().starts_with("backward");
    });
    const auto updates = timeline.spans(rank + "/host optimizer", "optimizer");
    const auto copies = timeline.spans(rank + "/copies", "copy");
    CHECK(updates.size() == 30 * 11); // units
    CHECK(copies.size() == updates.size());
    for (std::size_t i = 0; i < updates.size(); ++i) {
      const double begin = updates[i]["ts"], end = begin + updates[i]["dur"].get<double>();
      // Each update begins when its gradients have arrived, even if backward still runs.
      CHECK(begin >= copies[i]["ts"].get<double>() + copies[i]["dur"].get<double>());
      beside_backward += covered(backward, begin, end);
    }
  }
  CHECK(beside_backward > 0);
}

TEST_CASE("compare accepts a strategy with offload by its name") {
  const Experiment experiment;
  const auto table = experiment / "table";
  const auto ended =
      RunningProgram{{TROUPE_PROGRAM, "compare", Experiment::small_config().string(),
                      "--strategies", "fsdp,fsdp_offload,dp_offload", "--output", table.string(),
                      "--set", "train.max_steps=4", "--set", "devices.count=2"}}
          .wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 1);
  const auto rows = nlohmann::json::parse(read_bytes(table / "compare.json")).at("runs");
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].at("strategy") == "fsdp_offload");
  CHECK(rows[1].at("peak_memory_bytes") < rows[0].at("peak_memory_bytes"));
  CHECK(has(rows[2].at("problem").get<std::string>(), "parallel.offload: dp has "));
}
