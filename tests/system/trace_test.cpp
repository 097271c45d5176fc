// Tests --trace: the timeline of a run, and collectives that overlap computation in it.
#include "tests/system/experiment.hpp"
#include "tests/system/timeline.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <csignal>
#include <map>
#include <set>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A strategy, and the collectives of its steps.
struct TracedStep {
  std::string strategy;
  std::vector<std::string> names;
};

} // namespace

TEST_CASE("the overlap in a timeline equals the summary's", "[long]") {
  const auto& [strategy, names] = GENERATE(TracedStep{"ddp", {"all_reduce"}},
                                           TracedStep{"fsdp", {"all_gather", "reduce_scatter"}});
  CAPTURE(strategy);
  const Experiment experiment{{"parallel.strategy=" + strategy, "devices.count=2",
                               "parallel.bucket_size=64KiB", "train.max_steps=30",
                               "data.image_size=32", "train.evaluate_every=0"}};
  const auto file = experiment / "trace.json";
  const auto run = experiment.completed("traced", {"--trace=" + file.string()});
  const Timeline timeline{file};
  double collective = 0, overlapped = 0;
  std::map<std::string, double> beside_compute; // by collective, in microseconds
  for (const std::string rank : {"rank 0", "rank 1"}) {
    const auto computing = timeline.spans(rank + "/compute", "compute");
    const auto travelling = timeline.spans(rank + "/communication", "collective");
    REQUIRE(travelling.size() > 30);
    for (const auto& span : travelling) {
      const double begin = span["ts"], end = begin + span["dur"].get<double>();
      const auto part = covered(computing, begin, end);
      collective += end - begin;
      overlapped += part;
      beside_compute[span["name"]] += part;
    }
  }
  CHECK(beside_compute.size() == names.size());
  for (const auto& name : names)
    CHECK(beside_compute[name] > 0);
  const auto told = run.summary().at("overlap_ratio").get<double>();
  CHECK(overlapped / collective == Catch::Approx(told).margin(0.1));
}

TEST_CASE("parameters of the last units are gathered during backward, and the others after it") {
  const std::string strategy = GENERATE("zero1", "zero2");
  const bool clips = GENERATE(false, true); // then all units wait for the norm
  CAPTURE(strategy, clips);
  Settings settings{"parallel.strategy=" + strategy, "devices.count=2",
                    "parallel.bucket_size=64KiB", "train.max_steps=4", "train.evaluate_every=0"};
  if (clips)
    settings.push_back("train.clip_grad=1");
  const Experiment experiment{settings};
  const auto file = experiment / "trace.json";
  experiment.completed("traced", {"--trace=" + file.string()});
  std::map<int, double> last_reduced;
  const auto spans = Timeline{file}.spans("rank 0/communication", "collective");
  for (const auto& span : spans)
    if (span["name"] == "reduce_scatter")
      last_reduced[span["args"]["step"]] = span["ts"];
  REQUIRE(last_reduced.size() == 4);
  std::map<int, std::int64_t> early, all;
  for (const auto& span : spans)
    if (span["name"] == "all_gather") {
      const int step = span["args"]["step"];
      const auto bytes = span["args"]["bytes"].get<std::int64_t>();
      all[step] += bytes;
      early[step] += span["ts"] < last_reduced.at(step) ? bytes : 0;
    }
  for (const auto& [step, bytes] : all) {
    CHECK((early.at(step) > 0) == !clips);
    CHECK(early.at(step) <= bytes / 2);
  }
  CHECK(all.size() == 4);
}

TEST_CASE("a timeline has a row for every stream and every actor, with units, steps and bytes") {
  const Experiment experiment{
      {"parallel.strategy=ddp", "devices.count=2", "train.max_steps=4", "data.loader_threads=2"}};
  const auto file = experiment / "trace.json";
  experiment.completed("traced", {"--trace=" + file.string()});
  const Timeline timeline{file};
  std::set<std::string> expected = {
      "node/loader 0",    "node/loader 1", "node/checkpointer", "node/coordinator",
      "node/data_loader", "node/metrics",  "node/node",         "node/generation_builder"};
  for (const std::string rank : {"rank 0", "rank 1"})
    for (const char* row : {"/compute", "/communication", "/worker", "/shard_manager"})
      expected.insert(rank + row);
  CHECK(timeline.rows() == expected);

  std::map<std::string, int> names;
  for (const auto& span : timeline.spans("rank 1/compute", "compute"))
    ++names[span["name"]];
  CHECK(names.at("forward layer2.0") == 4);
  CHECK(names.at("backward layer2.0") == 4);
  std::set<int> steps;
  for (const auto& span : timeline.spans("rank 0/communication", "collective")) {
    CHECK(span["args"]["bytes"].get<std::int64_t>() > 0);
    steps.insert(span["args"]["step"].get<int>());
  }
  CHECK(steps == std::set<int>{0, 1, 2, 3});
  CHECK(timeline.spans("rank 0/communication", "optimizer").size() >= 4);
  std::set<std::string> messages;
  for (const auto& span : timeline.spans("rank 0/shard_manager", "handler"))
    messages.insert(span["name"]);
  CHECK(messages.contains("need_parameters"));
  CHECK(messages.contains("gradients_ready"));
}

TEST_CASE("a killed run leaves a readable timeline, and a run without --trace leaves none") {
  const Experiment experiment{{"train.epochs=1000", "train.evaluate_every=0"}};
  auto program = experiment.start("killed", {"--trace=" + (experiment / "trace.json").string()});
  const auto written = [&] {
    for (const auto& entry : std::filesystem::directory_iterator{experiment / "."})
      if (entry.path().filename().string().starts_with("trace.json.tmp-") &&
          entry.file_size() > 10'000)
        return true;
    return false;
  };
  REQUIRE(becomes_true(written));
  program.kill();
  CHECK_FALSE(std::filesystem::exists(experiment / "trace.json"));
  for (const auto& entry : std::filesystem::directory_iterator{experiment / "."})
    if (entry.is_regular_file())
      CHECK(Timeline{entry.path()}.rows().contains("rank 0/compute"));
}

TEST_CASE("a timeline that cannot be written is reported before training") {
  const Experiment experiment;
  const auto ended =
      experiment.train("none", {"--trace=" + (experiment / "missing/t.json").string()});
  CHECK(ended.code == 1);
  CHECK(has(ended.err, "missing/t.json"));
  CHECK_FALSE(std::filesystem::exists(experiment.output() / "none"));
}
