// Tests `troupe compare`: each row is a separate process, and finished rows are not repeated.
#include "tests/system/language_runs.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <csignal>

using namespace troupe;
using namespace troupe::testing;

namespace {

const Settings quick = {"train.max_steps=4", "devices.count=2"};

std::vector<std::string> compare(const Experiment& experiment, const std::string& strategies,
                                 const Settings& settings) {
  std::vector<std::string> words = {
      TROUPE_PROGRAM, "compare",  Experiment::small_config().string(), "--strategies",
      strategies,     "--output", (experiment / "table").string()};
  for (const auto& setting : settings)
    words.insert(words.end(), {"--set", setting});
  return words;
}

nlohmann::json rows(const Experiment& experiment) {
  return nlohmann::json::parse(read_bytes(experiment / "table/compare.json")).at("runs");
}

} // namespace

TEST_CASE("completed rows are reused, others are trained, and impossible ones have a reason") {
  const Experiment experiment;
  auto words = compare(experiment, "single,ddp", quick);
  words.insert(words.end(), {"--precisions", "fp32,tf32"});
  const auto first = RunningProgram{words}.wait();
  CAPTURE(first.out, first.err);
  CHECK(first.code == 1); // only CUDA devices have tf32
  const auto table = rows(experiment);
  REQUIRE(table.size() == 4);
  CHECK(table[0].at("strategy") == "single");
  CHECK(table[0].at("workers") == 1);
  CHECK(table[1].at("workers") == 2);
  CHECK(table[1].at("samples_per_second") > 0);
  CHECK(has(table[2].at("problem").get<std::string>(), "precision.mode"));
  CHECK(has(first.out, "[2/4] ddp fp32: "));
  CHECK(has(first.out, read_bytes(experiment / "table/compare.md")));

  const auto summary = experiment / "table/ddp-fp32/summary.json";
  const auto before = read_bytes(summary);
  const auto again = RunningProgram{compare(experiment, "single,ddp", quick)}.wait();
  CAPTURE(again.out, again.err);
  CHECK(again.code == 0);
  CHECK(read_bytes(summary) == before);
  CHECK(rows(experiment)[1] == table[1]);

  auto longer = quick;
  longer.push_back("train.max_steps=5");
  CHECK(RunningProgram{compare(experiment, "ddp", longer)}.wait().code == 0);
  CHECK(nlohmann::json::parse(read_bytes(summary)).at("steps") == 5);
}

TEST_CASE("an unknown strategy or precision is refused before any training") {
  const Experiment experiment;
  auto words = compare(experiment, "single,dpd_offload,nope", quick);
  words.insert(words.end(), {"--precisions", "fp32,bf15"});
  const auto ended = RunningProgram{words}.wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "unknown strategy \"dpd_offload\""));
  CHECK(has(ended.err, "unknown strategy \"nope\""));
  CHECK(has(ended.err, "unknown precision \"bf15\"; did you mean \"bf16\"?"));
  CHECK(has(ended.err, "allowed: single, "));
  CHECK_FALSE(std::filesystem::exists(experiment / "table"));
}

TEST_CASE("a file or a folder that cannot be opened is named") {
  const Experiment experiment;
  write_bytes(experiment / "file", "");
  const auto file = (experiment / "file").string();
  const auto absent = RunningProgram{{TROUPE_PROGRAM, "compare", file + ".yaml", "--strategies",
                                      "single", "--output", (experiment / "table").string()}}
                          .wait();
  CHECK(absent.code == 2);
  CHECK(has(absent.err, "troupe: " + file + ".yaml: cannot open"));
  const auto taken = RunningProgram{
      {TROUPE_PROGRAM, "compare", Experiment::small_config().string(), "--strategies", "single",
       "--output",
       file + "/table"}}.wait();
  CHECK(taken.code == 1);
  CHECK(has(taken.err, "cannot create the folder " + file + "/table: Not a directory"));
}

TEST_CASE("a row that cannot start shows the reason, not the figures of an earlier run") {
  const Experiment experiment;
  REQUIRE(RunningProgram{compare(experiment, "single", quick)}.wait().code == 0);
  const auto missing = (experiment / "missing").string();
  const auto settings =
      quick + Settings{"data.dataset=cifar10", "data.image_size=32", "data.root=" + missing};
  CHECK(RunningProgram{compare(experiment, "single", settings)}.wait().code == 1);
  CHECK(has(rows(experiment)[0].at("problem").get<std::string>(), missing));
}

TEST_CASE("a row that is killed does not affect the others") {
  const Experiment experiment;
  const Settings settings = {"train.max_steps=40", "train.evaluate_every=0"};
  RunningProgram program{compare(experiment, "single,ddp", settings)};
  const auto events = experiment / "table/single-fp32/events.jsonl";
  REQUIRE(becomes_true([&] { return std::filesystem::exists(events); }));
  // Kills the row's process: the only other process with this row's name among its arguments.
  for (const auto& entry : std::filesystem::directory_iterator{"/proc"})
    if (has(read_bytes(entry.path() / "cmdline"), "run.output=" + (experiment / "table").string()))
      ::kill(std::stoi(entry.path().filename().string()), SIGKILL);
  const auto ended = program.wait();
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 1);
  const auto table = rows(experiment);
  CHECK(table[0].at("problem") == "killed by signal 9");
  CHECK(table[1].at("seconds") > 0);
}

TEST_CASE("the comparison describes its machine and links to each run's report and log") {
  const Experiment experiment;
  const auto ended = RunningProgram{compare(experiment, "single,ddp", quick)}.wait();
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  const auto document = nlohmann::json::parse(read_bytes(experiment / "table/compare.json"));
  CHECK(document.at("title") == "resnet20 on synthetic");
  CHECK(document.at("machine").at("cores") > 0);
  CHECK(document.at("machine").at("memory_bytes") > 0);
  CHECK(document.at("machine").at("instruction_set").is_string());
  for (const auto& run : document.at("runs")) {
    const auto folder = experiment / "table";
    CHECK(std::filesystem::is_regular_file(folder / run.at("report").get<std::string>()));
    CHECK(std::filesystem::is_regular_file(folder / run.at("log").get<std::string>()));
  }
  CHECK(has(read_bytes(experiment / "table/compare.html"), "resnet20 on synthetic"));
}

TEST_CASE("existing runs are compared without training, with their curves") {
  const Experiment experiment{{"train.max_steps=4"}};
  experiment.completed("one");
  experiment.completed("two", {"parallel.strategy=ddp", "devices.count=2", "train.max_steps=6"});
  const auto folder = [&](const char* name) { return experiment.run(name).folder().string(); };
  const auto compared = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all = {TROUPE_PROGRAM, "compare", "--output",
                                    (experiment / "table").string()};
    all.insert(all.end(), words.begin(), words.end());
    return RunningProgram{all}.wait();
  };
  const auto ended = compared({"--runs", folder("one"), folder("two")});
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  CHECK(has(ended.out, "| run | strategy | precision |"));
  CHECK(has(ended.out, "page: " + (experiment / "table/compare.html").string()));
  const auto table = rows(experiment);
  REQUIRE(table.size() == 2);
  CHECK(table[0].at("name") == "one");
  CHECK(table[1].at("strategy") == "ddp");
  for (std::size_t i = 0; i < 2; ++i) {
    const auto run = experiment.run(i == 0 ? "one" : "two");
    const auto& curves = table[i].at("curves");
    CHECK(curves.at("step") == nlohmann::json(run.column<std::int64_t>("step")));
    CHECK(curves.at("loss").back().get<double>() == Catch::Approx(run.losses().back()));
    CHECK(curves.at("test_step").back() == run.epochs().back().at("step"));
  }

  const auto twice = compared({"--runs", folder("one"), folder("one") + "/."});
  CHECK(twice.code == 0);
  CHECK(rows(experiment)[0].at("name") == "one in " + folder("one"));
  const auto absent = compared({"--runs", folder("one"), folder("absent")});
  CHECK(absent.code == 2);
  CHECK(has(absent.err, folder("absent") + ": the folder does not exist"));
  const auto both = compared({Experiment::small_config().string(), "--runs", folder("one")});
  CHECK(both.code == 2);
  const auto neither = compared({});
  CHECK(neither.code == 2);
  CHECK(has(neither.err, "CONFIG with --strategies, or --runs is required"));
  const auto modeless = compared({Experiment::small_config().string()});
  CHECK(modeless.code == 2);
  CHECK(has(modeless.err, "--strategies is required"));
}

TEST_CASE("language models are compared by tokens per second and perplexity") {
  const auto experiment = on_text("gpt2-mini");
  const auto folder = experiment / "table";
  const auto ended =
      RunningProgram{experiment.command("compare", "all",
                                        {"--strategies=single", "--output=" + folder.string()})}
          .wait();
  CAPTURE(ended.out, ended.err);
  REQUIRE(ended.code == 0);
  const auto row = rows(experiment).at(0);
  CHECK(row.at("tokens_per_second").get<double>() ==
        Catch::Approx(32 * row.at("samples_per_second").get<double>()));
  const RunFiles run{folder / "single-fp32"};
  const double test_loss = run.epochs().back().at("test_loss");
  CHECK(run.summary().at("test_loss") == test_loss);
  CHECK(row.at("perplexity").get<double>() == Catch::Approx(std::exp(test_loss)));
  CHECK(row.at("accuracy").is_null());
  CHECK(has(ended.out, " tokens/s, "));
  CHECK(has(ended.out, " | test perplexity |\n"));
}
