// Compares `troupe plan` with the measurements of a run.
#include "tests/support/sanitized.hpp"
#include "tests/support/tokenizer_files.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/language_runs.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <fstream>
#include <map>
#include <numeric>

using namespace troupe;
using namespace troupe::testing;
using Catch::Approx;

namespace {

nlohmann::json plan(const Experiment& experiment, const Settings& settings) {
  auto more = settings;
  more.push_back("--json");
  const auto ended = RunningProgram{experiment.command("plan", "planned", more)}.wait();
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  return nlohmann::json::parse(ended.out);
}

nlohmann::json strategy(const nlohmann::json& plan, const std::string& name) {
  for (const auto& row : plan.at("strategies"))
    if (row.at("strategy") == name)
      return row;
  FAIL("the plan has no " << name);
  return {};
}

Ended plan_of_nowhere(const Experiment& experiment, const Settings& settings) {
  return RunningProgram{
      experiment.command("plan", "planned", settings + Settings{"data.root=/nowhere", "--json"})}
      .wait();
}

/// Checks that the plan is the same without the data set's files, and reports that they are
/// missing.
void check_without_files(const Experiment& experiment, const Settings& settings = {}) {
  const auto ended = plan_of_nowhere(experiment, settings);
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  CHECK(has(ended.err, "planned without the data set: /nowhere"));
  CHECK(nlohmann::json::parse(ended.out) == plan(experiment, settings));
}

/// Writes two files of columns a to e; the last column has four classes.
void write_tables(const Experiment& experiment) {
  for (const char* name : {"train.csv", "test.csv"}) {
    std::ofstream out{experiment / name};
    out << "a,b,c,d,e\n";
    for (int row = 0; row < 64; ++row)
      out << "1,2," << row << ",3," << row % 4 << '\n';
  }
}

/// Plans in a process with a limited address space.
Ended plan_within(std::size_t mebibytes, const Experiment& experiment, const Settings& settings) {
  std::vector<std::string> command = {
      "sh", "-c", "ulimit -v " + std::to_string(mebibytes * 1024) + " && exec \"$0\" \"$@\""};
  const auto program = experiment.command("plan", "planned", settings);
  command.insert(command.end(), program.begin(), program.end());
  return RunningProgram{command}.wait();
}

/// Returns the mean of the bytes that all workers send in a step, over a round of four steps.
double sent_in_a_round(const RunFiles& run) {
  const auto sent = run.column<double>("collective_bytes");
  return std::accumulate(sent.begin() + 4, sent.begin() + 8, 0.0) / 4;
}

/// Checks rank 0, which with dp has the optimizer.
void check_memory(const nlohmann::json& planned, const RunFiles& run) {
  const auto worker = run.summary().at("workers").at(0);
  for (const auto& [kind, bytes] : worker.at("peak_bytes_by_kind").items()) {
    INFO(kind);
    CHECK(planned.at("bytes_by_kind").at(kind).get<double>() ==
          Approx(bytes.get<double>()).epsilon(0.05));
  }
  CHECK(planned.at("total_bytes").get<double>() ==
        Approx(worker.at("peak_memory_bytes").get<double>()).epsilon(0.05));
}

} // namespace

TEST_CASE("a run needs the planned memory, by kind, and sends the planned bytes", "[long]") {
  const std::string name = GENERATE("single", "dp", "ddp", "zero1", "zero2", "zero3", "hsdp");
  const Settings job =
      GENERATE(Settings{},
               Settings{"train.accumulate=2", "train.optimizer.name=adam",
                        "train.optimizer.momentum.nesterov=false"},
               Settings{"precision.mode=amp_fp16", "train.recompute=block"},
               Settings{"model.sync_batch_norm=true", "train.accumulate=2"},
               Settings{"train.freeze=[stem, layer1, layer2.0, layer3.0]", "train.accumulate=2"});
  CAPTURE(name, job);
  const Experiment experiment{job};
  Settings settings = {"parallel.strategy=" + name, "parallel.bucket_size=64KiB",
                       "train.max_steps=3", "data.batch_size=16"};
  settings.push_back(name == "single" ? "devices.count=1" : "devices.count=4");
  const auto planned = strategy(plan(experiment, settings), name);
  const auto run = experiment.completed(name, settings);

  check_memory(planned, run);
  const auto sent = run.column<double>("collective_bytes").at(1);
  const auto workers = static_cast<double>(run.summary().at("workers").size());
  CHECK(planned.at("sent_bytes_per_step").get<double>() ==
        Approx(sent / workers).epsilon(0.01).margin(64)); // the found-inf flag adds a few bytes
}

TEST_CASE("language models need the planned memory, including one chunk of logits", "[long]") {
  const std::string model = GENERATE("gpt2-mini", "llama-mini");
  const std::string name = GENERATE("single", "ddp", "zero3");
  const Settings in_bf16{"precision.mode=amp_bf16", "train.recompute=block"};
  const Settings job = GENERATE_COPY(Settings{"data.batch_size=16"}, in_bf16,
                                     Settings{"train.accumulate=2", "train.sample.every=2 steps"});
  CAPTURE(model, name, job);
  const auto experiment = on_text(model, job);
  const auto settings = Settings{"train.max_steps=2", "model.vocabulary=40000",
                                 "data.eval_batch_size=16", "parallel.strategy=" + name,
                                 name == "single" ? "devices.count=1" : "devices.count=2"};
  const auto planned = strategy(plan(experiment, settings), name);
  check_memory(planned, experiment.completed(name, settings));
  // At least 16 MB of the logits of an evaluation's 512 tokens. In bf16, processors with tiles have
  // packed rows and classes instead.
  CHECK(planned.at("bytes_by_kind").at("workspace") > (job == in_bf16 ? 500'000 : 16'000'000));
}

TEST_CASE("replica groups need the planned memory and send the planned bytes", "[long]") {
  const std::string inner = GENERATE("ddp", "zero1", "zero3");
  const Settings job = GENERATE(
      Settings{}, Settings{"parallel.diloco.compress=int4", "train.accumulate=2"},
      Settings{"parallel.diloco.fragments=2", "parallel.diloco.overlap=1",
               "parallel.diloco.compress=fp16", "train.freeze=[stem, layer1, layer2.0, layer3.0]"},
      Settings{"parallel.diloco.fragments=3", "parallel.diloco.overlap=3",
               "parallel.diloco.compress.error_feedback=false", "parallel.diloco.compress=int8"});
  CAPTURE(inner, job);
  const Experiment experiment{job};
  const Settings settings = {"parallel.strategy=diloco",     "parallel.diloco.steps=4",
                             "parallel.diloco.group_size=2", "parallel.diloco.inner=" + inner,
                             "parallel.bucket_size=64KiB",   "devices.count=4",
                             "data.batch_size=16",           "train.max_steps=9",
                             "checkpoint.every=never"};
  const auto planned = strategy(plan(experiment, settings), "diloco");
  const auto run = experiment.completed("groups", settings);

  const auto used = run.summary().at("workers").at(0).at("peak_bytes_by_kind");
  for (const auto& [kind, bytes] : used.items()) {
    INFO(kind);
    const auto most = planned.at("bytes_by_kind").at(kind).get<double>();
    if (kind != "communication") {
      CHECK(most == Approx(bytes.get<double>()).epsilon(0.05));
      continue;
    }
    // The memory of messages depends on how fast receivers take them.
    CHECK(bytes.get<double>() <= most);
    CHECK(bytes.get<double>() > 0.7 * most);
  }
  CHECK(planned.at("sent_bytes_per_step").get<double>() ==
        Approx(sent_in_a_round(run) / 4).epsilon(1e-5));
}

TEST_CASE("replica groups across nodes need the planned memory and send the planned bytes") {
  const auto settings =
      for_nodes(2, "diloco") + Settings{"train.max_steps=9", "parallel.diloco.steps=4",
                                        "parallel.diloco.overlap=2",
                                        "parallel.diloco.compress=int8", "checkpoint.every=never"};
  const Experiment experiment;
  const auto planned = strategy(plan(experiment, settings), "diloco");
  Daemons daemons{experiment, "nodes", settings};
  auto& leader = daemons.lead();
  REQUIRE(daemons.join().wait().code == 0);
  REQUIRE(stop(leader).code == 0);
  const auto run = experiment.run("nodes");
  const auto used = run.summary().at("workers").at(0).at("peak_bytes_by_kind");
  const auto& bytes = planned.at("bytes_by_kind");
  for (const char* kind : {"parameters", "gradients", "optimizer"}) {
    INFO(kind);
    CHECK(bytes.at(kind) == used.at(kind));
  }
  CHECK(used.at("communication").get<double>() <= bytes.at("communication").get<double>());
  CHECK(planned.at("sent_bytes_per_step").get<double>() ==
        Approx(sent_in_a_round(run) / 2).epsilon(1e-5));
}

TEST_CASE("nodes need the planned memory and send the planned bytes") {
  const std::string name = GENERATE("dp", "ddp", "zero1", "zero3");
  CAPTURE(name);
  const auto settings = for_nodes(2, name) + Settings{"train.max_steps=3", "train.accumulate=2"};
  const Experiment experiment;
  const auto planned = strategy(plan(experiment, settings), name);
  Daemons daemons{experiment, "nodes", settings};
  auto& leader = daemons.lead();
  REQUIRE(daemons.join().wait().code == 0);
  REQUIRE(stop(leader).code == 0);
  const auto run = experiment.run("nodes");
  const auto used = run.summary().at("workers").at(0).at("peak_bytes_by_kind");
  CHECK(planned.at("bytes_by_kind").at("parameters") == used.at("parameters"));
  CHECK(planned.at("sent_bytes_per_step").get<double>() ==
        Approx(run.column<double>("collective_bytes").at(1) / 2).epsilon(1e-5));
}

TEST_CASE("parameters below the first trained unit are not gathered for backward") {
  const Experiment experiment{
      {"train.max_steps=2", "data.batch_size=16", "parallel.bucket_size=16KiB"}};
  const auto sent = [&](const char* name, const Settings& more) {
    const auto run = experiment.completed(name, workers("zero3", 2) + more);
    return run.column<double>("collective_bytes").at(1);
  };
  const auto of_all = sent("all", {}), of_head = sent("head", {"train.freeze=[stem, layer1, "
                                                               "layer2, layer3]"});
  // The first gather remains, and little of the second gather and of the reduce-scatter.
  CHECK(of_head < 0.4 * of_all);
  CHECK(of_head > 0.3 * of_all);
}

TEST_CASE("a plan includes the copy that a checkpoint is written from during training") {
  const std::string name = GENERATE("single", "zero2", "zero3", "diloco");
  CAPTURE(name);
  const Experiment experiment;
  const Settings settings = {"parallel.strategy=" + name,
                             name == "single" ? "devices.count=1" : "devices.count=2",
                             "train.max_steps=4"};
  const auto pinned_of = [&](const std::string& every) {
    const auto more = settings + Settings{"checkpoint.every=" + every, "checkpoint.resume=never"};
    const auto planned = strategy(plan(experiment, more), name).at("bytes_by_kind").at("pinned");
    const auto run = experiment.completed(name, more);
    const auto worker = run.summary().at("workers").at(0);
    CHECK(worker.at("peak_bytes_by_kind").at("pinned") == planned);
    return planned.get<std::size_t>();
  };
  CHECK(pinned_of("4 steps") == 0);                          // at the end, no copy is needed
  CHECK(pinned_of("3 steps") > 270'000 * 2 * sizeof(float)); // parameters and momentum
}

TEST_CASE("ResNet-50 with Adam on 4 workers needs the bytes of ZeRO's formulas, within 2%") {
  const Experiment experiment{{"model.name=resnet50", "train.optimizer.name=adam",
                               "train.optimizer.momentum.nesterov=false", "parallel.strategy=ddp",
                               "devices.count=4", "data.image_size=32"}};
  const double psi = 23'520'842 * 4.0; // bytes, with 10 classes and the CIFAR stem
  const std::map<std::string, double> formulas = {{"ddp", 4 * psi},
                                                  {"zero1", 2 * psi + 2 * psi / 4},
                                                  {"zero2", psi + 3 * psi / 4},
                                                  {"zero3", 4 * psi / 4}};
  const auto made = plan(experiment, {});
  for (const auto& [name, formula] : formulas) {
    CAPTURE(name);
    const auto bytes = strategy(made, name).at("bytes_by_kind");
    CHECK(bytes.at("parameters").get<double>() + bytes.at("gradients").get<double>() +
              bytes.at("optimizer").get<double>() ==
          Approx(formula).epsilon(0.02));
  }
}

TEST_CASE("a plan lists strategies that the config does not allow separately, with the reason") {
  const Experiment experiment{{"parallel.strategy=ddp", "devices.count=4", "data.batch_size=16"}};
  const auto reasons = [&](const Settings& settings) {
    const auto made = plan(experiment, settings);
    std::map<std::string, std::string> reasons;
    for (const auto& row : made.at("refused"))
      reasons[row.at("strategy")] = row.at("reason");
    for (const auto& row : made.at("strategies"))
      CHECK_FALSE(reasons.contains(row.at("strategy")));
    return reasons;
  };
  CHECK(reasons({"parallel.async.staleness=1"}).empty());
  CHECK(reasons({"train.clip_grad=1", "parallel.async.staleness=0"}).empty());
  const auto clipped = reasons({"train.clip_grad=1", "parallel.async.staleness=1"});
  CHECK(clipped.size() == 1);
  CHECK(has(clipped.at("async"), "have no common norm (train.clip_grad, "));
  const auto synchronized = reasons({"model.sync_batch_norm=true"});
  CHECK(has(synchronized.at("local_sgd"), "train independently"));
  CHECK(has(synchronized.at("diloco"), "replica groups do not sum each other's"));
  CHECK(has(synchronized.at("async"), "cannot sum batch statistics (model.sync_batch_norm, "));
  CHECK_FALSE(synchronized.contains("zero3"));
  const auto ended =
      RunningProgram{experiment.command("plan", "planned", {"model.sync_batch_norm=true"})}.wait();
  CHECK(has(ended.out, "\nlocal_sgd would be refused: workers that train independently"));
  CHECK_FALSE(has(ended.out, "\nasync  "));
}

TEST_CASE("a job that fits nowhere is planned, and the plan names the activations as the cause") {
  const Settings job = {"devices.engine=interpreter"};
  const Experiment experiment{job};
  const auto small = strategy(plan(experiment, job), "single");
  // More bytes than the address space of a process.
  const Settings huge = {"data.limit=1000000", "data.batch_size=1000000",
                         "data.eval_batch_size=1000000", "data.image_size=512",
                         "train.evaluate_every=1"};
  const auto large = plan(experiment, huge);
  const auto row = strategy(large, "single");
  CHECK(row.at("fits") == false);
  CHECK(row.at("bytes_by_kind").at("parameters") == small.at("bytes_by_kind").at("parameters"));
  CHECK(row.at("bytes_by_kind").at("activations") > 1e14);
  CHECK(large.at("recommendation").at("strategy").is_null());
  CHECK(has(large.at("recommendation").at("reason").get<std::string>(), "train.recompute"));
}

TEST_CASE("a plan does not allocate activations") {
  if (is_sanitized())
    SKIP("a sanitizer needs terabytes of address space");
  const auto ended =
      plan_within(1024, Experiment{},
                  {"model.name=resnet50", "model.stem=imagenet", "data.image_size=224",
                   "data.batch_size=20000", "data.limit=20000", "train.evaluate_every=0"});
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(has(ended.out, "1.6 TiB"));
  CHECK(has(ended.out, "most of it is activations; set train.recompute"));
}

TEST_CASE("a plan does not allocate copies of parameters") {
  if (is_sanitized())
    SKIP("a sanitizer needs terabytes of address space");
  const auto ended = plan_within(
      1024, Experiment{},
      {"model.name=mlp", "model.hidden=[20000,20000]", "precision.mode=amp_fp16", "--json"});
  CAPTURE(ended.err);
  REQUIRE(ended.code == 0);
  const auto bytes = strategy(nlohmann::json::parse(ended.out), "single").at("bytes_by_kind");
  CHECK(bytes.at("parameters") > 1'600'000'000); // 400 million, in fp32
  CHECK(bytes.at("workspace") > 1'600'000'000);
}

TEST_CASE("a job without its texts is planned, and the plan reports it") {
  const Settings dropout = GENERATE(Settings{}, Settings{"model.dropout=0.1"});
  check_without_files(on_text("gpt2-mini", dropout));
}

TEST_CASE("a job without its tokenizer is planned if the model's vocabulary is given") {
  const auto experiment = on_text("gpt2-mini");
  const Settings nowhere = {"data.tokenizer=/nowhere/tokenizer.json"};
  const auto refused = plan_of_nowhere(experiment, nowhere);
  CHECK(refused.code == 2);
  CHECK(has(refused.err, "model.vocabulary"));
  const auto planned = plan_of_nowhere(experiment, nowhere + Settings{"model.vocabulary=50304"});
  CAPTURE(planned.err);
  CHECK(planned.code == 0);
  CHECK(has(planned.err, "planned without the data set: /nowhere/tokenizer.json"));
}

TEST_CASE("a vocabulary smaller than the tokenizer's is refused even without the texts") {
  const testing::TokenizerFiles files;
  const auto tokenizer = files.write_json("tokenizer.json", testing::small_tokenizer());
  const auto ended =
      plan_of_nowhere(on_text("gpt2-mini"), {"data.tokenizer=" + tokenizer, "model.vocabulary=10"});
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "has 259 tokens, and model.vocabulary is 10"));
}

TEST_CASE("a job without its tables is planned, and the plan reports it") {
  const Settings target = GENERATE(
      Settings{"data.table.targets=[e]", "model.num_classes=4"},
      Settings{"data.table.targets=[d,e]", "model.num_classes=2", "model.loss=mean_squared_error"});
  const Experiment experiment{target + Settings{"data.dataset=csv", "data.table.features=[a,b,c]",
                                                "data.augment=[]", "model.name=mlp",
                                                "model.hidden=[16]"}};
  write_tables(experiment);
  check_without_files(experiment, {"data.root=" + (experiment / "").string()});
}

TEST_CASE("a job without its images is planned, and the plan reports it") {
  const Experiment experiment;
  const Settings mnist = {"data.dataset=mnist", "model.in_channels=1"};
  const auto ended = plan_of_nowhere(experiment, mnist);
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  CHECK(has(ended.err, "planned without the data set: /nowhere"));
  const auto row = strategy(nlohmann::json::parse(ended.out), "single");
  const auto there = strategy(plan(experiment, {"model.in_channels=1"}), "single");
  CHECK(row.at("bytes_by_kind") == there.at("bytes_by_kind"));
}

TEST_CASE("a plan is printed as a table") {
  const Experiment experiment{{"parallel.strategy=ddp", "devices.count=4"}};
  const auto ended = RunningProgram{experiment.command("plan", "planned")}.wait();
  CHECK(ended.code == 0);
  for (const char* text : {"4 workers", "activations", "zero3", "ddp: everything fits"})
    CHECK(has(ended.out, text));
}
