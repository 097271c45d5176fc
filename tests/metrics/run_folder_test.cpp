#include "core/staging.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_json.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/nested_json.hpp"
#include "tests/support/records.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <csignal>
#include <limits>
#include <sstream>
#include <string>

#include <sys/resource.h>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

RunFolder open(const ScratchFolder& output, std::int64_t first_step = 0,
               const RunWriter& writer = {}) {
  auto run = small_run();
  run.first_step = first_step;
  auto folder = RunFolder::open(output.path(), run, "run: {name: small}\n", writer);
  if (!folder)
    FAIL(folder.error().to_string());
  return *std::move(folder);
}

void train(RunFolder& folder, std::int64_t from, std::int64_t to) {
  for (auto step = from; step < to; ++step) {
    REQUIRE(folder.append(small_step(step)));
    if ((step + 1) % 10 == 0)
      REQUIRE(folder.append(small_epoch(step / 10)));
  }
}

/// Returns the value of a key in every line of a file.
std::vector<std::int64_t> keys_in(const std::filesystem::path& file, const char* key) {
  std::istringstream lines{read_bytes(file)};
  std::vector<std::int64_t> keys;
  for (std::string line; std::getline(lines, line);)
    keys.push_back(nlohmann::json::parse(line).at(key));
  return keys;
}

std::vector<std::int64_t> steps_in(const ScratchFolder& output) {
  return keys_in(output / "small/events.jsonl", "step");
}

std::size_t epochs_in(const ScratchFolder& output) {
  return keys_in(output / "small/epochs.jsonl", "epoch").size();
}

std::vector<std::int64_t> up_to(std::int64_t end) {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 0; step < end; ++step)
    steps.push_back(step);
  return steps;
}

} // namespace

TEST_CASE("a run writes its config, one event per step, a summary and a report") {
  const ScratchFolder output;
  auto folder = open(output);
  train(folder, 0, 30);
  REQUIRE(folder.write(small_summary()));
  REQUIRE(folder.write_report("{}"));
  CHECK(read_bytes(output / "small/config.yaml") == "run: {name: small}\n");
  CHECK(steps_in(output) == up_to(30));
  const auto first =
      nlohmann::json::parse(read_bytes(output / "small/events.jsonl")
                                .substr(0, read_bytes(output / "small/events.jsonl").find('\n')));
  for (const char* key : {"step", "epoch", "loss", "samples", "seconds"})
    CHECK(first.contains(key));
  const auto summary = nlohmann::json::parse(read_bytes(output / "small/summary.json"));
  for (const char* key :
       {"status", "epochs", "steps", "samples", "seconds", "samples_per_second", "loss", "accuracy",
        "world_size", "strategy", "precision", "parameters_sha256", "workers", "overlap_ratio",
        "mfu", "operations_per_step"})
    CHECK(summary.contains(key));
  for (const char* key : {"rank", "device", "peak_memory_bytes", "parameter_bytes",
                          "gradient_bytes", "optimizer_bytes", "busy_ratio",
                          "peak_operations_per_second", "step_seconds", "optimizer_seconds"})
    CHECK(summary["workers"][1].contains(key));
  CHECK(summary["started"] == "2026-11-21T00:00:00Z");
  CHECK(read_bytes(output / "small/report.html").starts_with("<!DOCTYPE html>"));
}

TEST_CASE("a resumed run removes the events after the step that it resumes from") {
  const ScratchFolder output;
  {
    auto folder = open(output);
    train(folder, 0, 25); // killed after the checkpoint of step 20
  }
  auto folder = open(output, 20);
  CHECK(steps_in(output) == up_to(20));
  CHECK(folder.before().missing_steps() == 0);
  train(folder, 20, 30);
  CHECK(steps_in(output) == up_to(30));
  CHECK(keys_in(output / "small/epochs.jsonl", "epoch") == up_to(3));
}

TEST_CASE("removed lines are restored when nodes bring a later state") {
  const ScratchFolder output;
  {
    auto folder = open(output);
    train(folder, 0, 25); // the leader is lost, and restarts with the checkpoint of step 10
    REQUIRE(folder.append(small_generated(20)));
  }
  REQUIRE(claim_staging(output / "small", "1-a"));
  const RunWriter writer{.staging = staging_of(output / "small", "1-a")};
  {
    auto folder = open(output, 10, writer);
    CHECK(steps_in(output) == up_to(10));
    train(folder, 10, 12);
  }
  auto folder = open(output, 24, writer); // the other nodes join with the state of step 24
  CHECK(steps_in(output) == up_to(24));
  CHECK(keys_in(output / "small/epochs.jsonl", "epoch") == up_to(2));
  CHECK(keys_in(output / "small/samples.jsonl", "step") == std::vector<std::int64_t>{20});
  CHECK(folder.before().missing_steps() == 0);
  CHECK(folder.before().run().epoch.steps == 4);
  train(folder, 24, 30);
  CHECK(steps_in(output) == up_to(30));
}

TEST_CASE("repeated steps do not duplicate restored lines") {
  const ScratchFolder output;
  const auto run = output / "small";
  {
    auto folder = open(output);
    train(folder, 0, 20);
  }
  REQUIRE(claim_staging(run, "1-a"));
  const RunWriter writer{.staging = staging_of(run, "1-a")};
  for (const auto& [from, to] : {std::pair{5, 15}, std::pair{10, 18}}) {
    auto folder = open(output, from, writer);
    train(folder, from, to);
  }
  const auto folder = open(output, 18, writer);
  CHECK(steps_in(output) == up_to(18));
  CHECK(folder.before().missing_steps() == 0);
}

TEST_CASE("a run that resumes within an epoch keeps only the previous epochs") {
  const ScratchFolder output;
  {
    auto folder = open(output);
    train(folder, 0, 20);
  }
  auto folder = open(output, 15);
  CHECK(epochs_in(output) == 1);
  train(folder, 15, 30);
  CHECK(epochs_in(output) == 3);
}

TEST_CASE("a resumed run has the same history as if it had not been stopped") {
  const ScratchFolder output;
  {
    auto folder = open(output);
    train(folder, 0, 27);
  }
  const auto folder = open(output, 25);
  const auto& before = folder.before();
  CHECK(before.run().loss == small_step(24).loss);
  CHECK(before.run().test_loss == 1.25);
  CHECK(before.run().accuracy == 0.625);
  StepSums sums;
  for (std::int64_t step = 20; step < 25; ++step)
    sums.add(small_step(step));
  CHECK(before.run().epoch.steps == 5);
  CHECK(before.run().epoch.loss == sums.loss);
  CHECK(before.run().epoch.accuracy() == sums.accuracy());
  CHECK(before.run().epoch.seconds == sums.seconds);
  CHECK(before.history().steps.points().size() == 25);
  CHECK(before.history().progress.now().steps == 25);
  CHECK(before.history().progress.now().samples == 0); // counts only this start
  CHECK(before.history().epochs.epochs().size() == 2);
}

TEST_CASE("a run's description is written at its start and read back") {
  const ScratchFolder output;
  auto run = small_run();
  run.class_names = {"cat", "dog \"x\""};
  run.sample_name = "rows";
  run.tokens_per_sample = 64;
  run.recompute = RecomputeRecord{100, 400, 0.25};
  REQUIRE(RunFolder::open(output.path(), run, ""));
  const auto text = read_bytes(output / "small/run.json");
  const auto back = parse_run_info(text).value();
  CHECK(to_json(back) == text);
  CHECK(back.class_names == run.class_names);
  CHECK(back.strategy == run.strategy);
  CHECK(back.started == run.started);
  CHECK(back.tokens_per_sample == 64);
  CHECK(back.recompute->operations_ratio == 0.25);
  CHECK_FALSE(parse_run_info("{}"));
}

TEST_CASE("a summary is read back as it was written") {
  auto summary = small_summary();
  summary.loss_scale = 1024;
  summary.skipped_steps = 3;
  summary.checkpoint = "there";
  CHECK(to_json(parse_summary(to_json(summary)).value()) == to_json(summary));
  CHECK_FALSE(parse_summary("{}"));
}

TEST_CASE("a run that ended within an epoch keeps that epoch when it is started again") {
  const ScratchFolder output;
  auto run = small_run();
  run.total_steps = 25;
  {
    auto folder = RunFolder::open(output.path(), run, "").value();
    train(folder, 0, 25);
    REQUIRE(folder.append(small_epoch(2)));
  }
  run.first_step = 25;
  (void)RunFolder::open(output.path(), run, "").value();
  CHECK(epochs_in(output) == 3);
  run.total_steps = 30; // after an extension the epoch continues and gets a new line at its end
  (void)RunFolder::open(output.path(), run, "").value();
  CHECK(epochs_in(output) == 2);
}

TEST_CASE("a run that starts over keeps no event and removes the previous summary") {
  const ScratchFolder output;
  {
    auto folder = open(output);
    train(folder, 0, 30);
    REQUIRE(folder.write(small_summary()));
    REQUIRE(folder.write_report("{}"));
  }
  auto folder = open(output);
  CHECK(steps_in(output).empty());
  CHECK_FALSE(std::filesystem::exists(folder.summary()));
  CHECK_FALSE(std::filesystem::exists(folder.report()));
}

TEST_CASE(
    "a partial line and everything after a damaged line are removed, and missing ones counted") {
  const ScratchFolder output;
  {
    auto folder = open(output);
    train(folder, 0, 8);
  }
  const auto whole = read_bytes(output / "small/events.jsonl");
  write_bytes(output / "small/events.jsonl", whole + R"({"step":8,"ep)");
  CHECK(open(output, 8).before().missing_steps() == 0);
  CHECK(read_bytes(output / "small/events.jsonl") == whole);
  auto damaged = whole;
  damaged[whole.find("\"step\":5")] = '#';
  write_bytes(output / "small/events.jsonl", damaged);
  CHECK(open(output, 8).before().missing_steps() == 3);
  CHECK(steps_in(output) == up_to(5));
}

TEST_CASE("all events of a killed process are kept, and the file can be appended to") {
  const ScratchFolder output;
  ChildProcess child([&output](int descriptor) {
    auto run = small_run();
    auto folder = RunFolder::open(output.path(), run, "");
    for (std::int64_t step = 0; step < 7; ++step)
      (void)folder->append(small_step(step));
    write_text(descriptor, "written");
    ::pause();
  });
  REQUIRE(child.wait_for_first_output(10000));
  child.kill();
  CHECK(steps_in(output) == up_to(7));
  CHECK(open(output, 7).before().missing_steps() == 0);
}

TEST_CASE("two processes cannot write one run folder") {
  const ScratchFolder output;
  const auto first = open(output);
  const auto second = RunFolder::open(output.path(), small_run(), "");
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::invalid_input);
  CHECK(second.error().message.find("run.name") != std::string::npos);
}

TEST_CASE("opening a run folder removes only the temporary files of a killed process") {
  const ScratchFolder output;
  open(output);
  const auto left = {"report.html.tmp-0123456789", "run.json.tmp-17", "members.json.tmp-4"};
  const auto others = {"notes.txt.tmp-17", "report.html.tmp-x", "report.html.tmp-"};
  for (const auto& names : {left, others})
    for (const auto* name : names)
      write_bytes(output.path() / "small" / name, "half");
  open(output);
  for (const auto* name : left)
    CHECK_FALSE(std::filesystem::exists(output.path() / "small" / name));
  for (const auto* name : others)
    CHECK(std::filesystem::exists(output.path() / "small" / name));
}

TEST_CASE("a run of one process removes the members of an earlier job of daemons from its folder") {
  const bool is_daemon = GENERATE(true, false);
  const ScratchFolder output;
  const auto members = output / "small/members.json";
  std::filesystem::create_directories(output / "small/.drafts-1-a");
  write_bytes(members, "{}");
  RunWriter writer;
  if (is_daemon)
    writer.staging = output / "small/.drafts-1-a";
  REQUIRE(RunFolder::open(output.path(), small_run(), "", writer));
  CHECK(std::filesystem::exists(members) == is_daemon);
}

TEST_CASE("a symbolic link in place of a log file is refused, and its target is unchanged") {
  const std::string file = GENERATE("events", "epochs", "recoveries", "samples");
  CAPTURE(file);
  const ScratchFolder output;
  std::filesystem::create_directories(output / "small");
  write_bytes(output / "precious", "of somebody else\n");
  std::filesystem::create_symlink(output / "precious", output / ("small/" + file + ".jsonl"));
  const auto folder = RunFolder::open(output.path(), small_run(), "");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Errc::invalid_input);
  CHECK(folder.error().message.find(file + ".jsonl is a symbolic link") != std::string::npos);
  CHECK(read_bytes(output / "precious") == "of somebody else\n");
}

TEST_CASE("the folder of all runs may be a symbolic link") {
  const ScratchFolder disk, output;
  std::filesystem::create_directory_symlink(disk.path(), output / "runs");
  auto folder = RunFolder::open(output / "runs", small_run(), "");
  REQUIRE(folder);
  REQUIRE(folder->append(small_step(0)));
  CHECK(keys_in(disk / "small/events.jsonl", "step") == up_to(1));
}

TEST_CASE("a folder with files but no run is refused, an empty one or a run's is accepted") {
  const ScratchFolder run;
  CHECK(check_no_other_files(run / "none"));
  CHECK(check_no_other_files(run.path()));
  write_bytes(run / ".hidden", "");
  std::filesystem::create_directory(run / "lost+found"); // as on a new volume
  CHECK(check_no_other_files(run.path()));
  write_bytes(run / "config.yaml", "of another program");
  const auto refused = check_no_other_files(run.path());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().exit_code() == 2);
  CHECK(refused.error().message.starts_with(run.path().string() + " has files (config.yaml)"));
  const std::string mark =
      GENERATE("events.jsonl", "run.json", "summary.json", "members.json", "checkpoints");
  write_bytes(run / mark, "");
  CHECK(check_no_other_files(run.path()));
}

TEST_CASE("a full disk has its own error and loses no complete line") {
  const ScratchFolder output;
  ChildProcess child([&output](int descriptor) {
    std::signal(SIGXFSZ, SIG_IGN);
    auto folder = RunFolder::open(output.path(), small_run(), "");
    const rlimit small{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &small);
    std::int64_t step = 0;
    auto status = folder->append(small_step(step));
    while (status && step < 100)
      status = folder->append(small_step(++step));
    write_text(descriptor, status ? "no error" : status.error().to_string());
  });
  const auto said = child.wait_for_output();
  CHECK(said.starts_with(to_string(Errc::no_space)));
  CHECK(said.find("events.jsonl") != std::string::npos);
  const auto text = read_bytes(output / "small/events.jsonl");
  CHECK(text.size() > 500);
  CHECK(text.ends_with("}\n"));
}

TEST_CASE("a folder that cannot be created is an error that names it") {
  const ScratchFolder output;
  write_bytes(output / "small", "a file");
  const auto folder = RunFolder::open(output.path(), small_run(), "");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Errc::io);
  CHECK(folder.error().message.find((output / "small").string()) != std::string::npos);
}

TEST_CASE("records are read back as they were written, and a NaN loss as NaN") {
  const auto step = small_step(12);
  const auto back = parse_step(to_json(step)).value();
  CHECK(back.step == step.step);
  CHECK(back.loss == step.loss); // to the last bit
  CHECK(back.collective_bytes == step.collective_bytes);
  CHECK(back.collectives == step.collectives);
  CHECK(back.gradient_norm == 1.5);
  CHECK(back.mfu == 0.02);
  CHECK(back.optimizer_seconds == 0.005);
  CHECK(back.drift == 0.25);
  CHECK(back.round_bytes == 700);
  CHECK(to_json(back) == to_json(step));
  auto within = step;
  within.round_bytes = 0;
  CHECK(to_json(within).find("round_bytes") == std::string::npos);
  CHECK(parse_step(to_json(within)).value().round_bytes == 0);
  auto broken = step;
  broken.loss = std::numeric_limits<double>::quiet_NaN();
  CHECK(to_json(broken).find("\"loss\":null") != std::string::npos);
  CHECK(std::isnan(parse_step(to_json(broken)).value().loss));
  CHECK(parse_epoch(to_json(small_epoch(1))).value().step == 19);
  CHECK_FALSE(parse_epoch(R"({"epoch": 1, "train_loss": 1.5})")
                  .value()
                  .step); // as an earlier version wrote it
  auto untested = small_epoch(1);
  untested.test_accuracy.reset();
  CHECK_FALSE(parse_epoch(to_json(untested)).value().test_accuracy);
  CHECK(parse_epoch(to_json(untested)).value().test_loss == 1.25);
  CHECK_FALSE(parse_step("{}"));
  CHECK_FALSE(parse_step("not JSON"));
  const auto nested = ",\"reads\":" + deeply_nested() + "}";
  CHECK_FALSE(parse_step("{\"step\":1" + nested));
  CHECK_FALSE(parse_epoch("{\"epoch\":1" + nested));
  CHECK_FALSE(parse_summary("{\"status\":\"failed\"" + nested));
}

TEST_CASE("step records of version 0.1 are read") {
  const auto of_now = parse_step(
      R"({"step": 1, "slice_assignment": [3, 1], "dealing": [3, 1], "work_item_seconds": 2})");
  const auto before = parse_step(R"({"step": 1, "dealing": [3, 1], "lease_seconds": 2})");
  for (const auto& step : {of_now, before}) {
    REQUIRE(step);
    CHECK(step->slice_assignment == std::vector{3, 1});
    CHECK(step->item_seconds == 2);
  }
}

TEST_CASE("a resumed run keeps samples, except those of repeated steps") {
  const auto sample = small_generated(20);
  CHECK(to_json(parse_generated(to_json(sample)).value()) == to_json(sample));
  CHECK_FALSE(parse_generated(R"({"step":20})"));
  const ScratchFolder output;
  {
    auto folder = open(output);
    train(folder, 0, 25);
    for (const std::int64_t steps : {10, 20, 25})
      REQUIRE(folder.append(small_generated(steps)));
  }
  auto folder = open(output, 20); // keeps the sample of step 20
  CHECK(keys_in(output / "small/samples.jsonl", "step") == std::vector<std::int64_t>{10, 20});
  const auto kept = folder.before().history().generated.records();
  REQUIRE(kept.size() == 2);
  CHECK(kept.back().text == sample.text);
  REQUIRE(folder.append(small_generated(25)));
  CHECK(keys_in(output / "small/samples.jsonl", "step") == std::vector<std::int64_t>{10, 20, 25});
}

TEST_CASE("a resumed run keeps membership changes, even if steps are repeated") {
  const RecoveryRecord lost{.time = std::chrono::system_clock::time_point{std::chrono::seconds{1}},
                            .generation = 2,
                            .reason = "node b:1 (rank 1) was lost",
                            .is_loss = true,
                            .step = 7,
                            .steps_repeated = 3,
                            .world_size = 2,
                            .halt = 0.25};
  CHECK(to_json(parse_recovery(to_json(lost)).value()) == to_json(lost));
  CHECK_FALSE(parse_recovery("{}"));
  CHECK_FALSE(parse_recovery(R"({"generation":2,"is_loss":"x"})").value().is_loss);
  const ScratchFolder output;
  REQUIRE(open(output).append(lost));
  const auto again = open(output).before().history().recoveries.records();
  REQUIRE(again.size() == 1);
  CHECK(again.front().reason == lost.reason);
}
