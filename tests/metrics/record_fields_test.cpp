// The fields of records: in files, in docs/files.md, and in lines of version 0.2.0.
#include "metrics/records/recovery.hpp"
#include "metrics/report/run_json.hpp"
#include "tests/support/files_page.hpp"
#include "tests/support/records.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

constexpr auto some_time = std::chrono::sys_days{std::chrono::year{2026} / 11 / 21};

EpochRecord full_epoch() {
  auto epoch = small_epoch(2);
  epoch.time = some_time;
  return epoch;
}

GeneratedRecord full_generated() {
  auto generated = small_generated(20);
  generated.time = some_time;
  return generated;
}

RecoveryRecord full_recovery() {
  return {.time = some_time,
          .generation = 2,
          .reason = "node b:1 (rank 1) was lost",
          .is_loss = true,
          .step = 7,
          .steps_repeated = 3,
          .world_size = 2,
          .detect = 0.125,
          .halt = 0.25,
          .heal = 0.5,
          .connect = 1,
          .first_step = 2};
}

RunInfo full_info() {
  auto run = small_run();
  run.class_names = {"cat", "dog"};
  run.tokens_per_sample = 64;
  run.first_step = 5;
  run.peak_operations = 3e12;
  run.recompute = RecomputeRecord{100, 400, 0.25};
  return run;
}

RunSummary full_summary() {
  auto summary = small_summary();
  static_cast<RunInfo&>(summary) = full_info();
  summary.loss_scale = 1024;
  summary.skipped_steps = 3;
  summary.scale_growths = 2;
  summary.error = "out of memory";
  summary.unreadable_samples = 4;
  summary.unreadable_files = 2;
  summary.checkpoints = 3;
  summary.checkpoint_failures = 1;
  summary.checkpoint = "checkpoints/step-30";
  return summary;
}

/// Checks that every field of the record has a value, is in the JSON, and is described as
/// PATH + name in the table of the file.
template <class Record>
void check_fields(const Record& record, const nlohmann::json& json, const std::string& file,
                  const std::string& path = "") {
  const auto table = tables_of_files_page().at(file);
  for_each_field<Record>([&](const auto& field) {
    const std::string name{field.name};
    CAPTURE(file, path, name);
    CHECK_FALSE(is_empty(std::invoke(field.member, record)));
    CHECK(json.contains(name) == field.traits.in_files);
    CHECK(table.contains(path + name) == field.traits.in_files);
  });
}

} // namespace

TEST_CASE("each field of a record is written, read back and described") {
  const auto check = [](const auto& record, auto parse, const std::string& file) {
    const auto text = to_json(record);
    check_fields(record, nlohmann::json::parse(text), file);
    CHECK(to_json(parse(text).value()) == text);
  };
  check(full_step(12), parse_step, "events.jsonl");
  check(full_epoch(), parse_epoch, "epochs.jsonl");
  check(full_generated(), parse_generated, "samples.jsonl");
  check(full_recovery(), parse_recovery, "recoveries.jsonl");
  check(full_info(), parse_run_info, "run.json");
  check(full_summary(), parse_summary, "summary.json");
}

TEST_CASE("each field of a worker and of recomputing is written and described") {
  const auto run = full_summary();
  const auto json = nlohmann::json::parse(to_json(run));
  check_fields(run.workers[1], json.at("workers")[1], "summary.json", "workers[].");
  check_fields(*run.recompute, json.at("recompute"), "summary.json", "recompute.");
  check_fields(*run.recompute, json.at("recompute"), "run.json", "recompute.");
}

TEST_CASE("the line of a step has not changed since 0.2.0") {
  CHECK(
      to_json(full_step(12)) ==
      R"({"step":12,"epoch":1,"time":"2026-11-21T00:00:12.000Z","loss":0.15384615384615385,)"
      R"("accuracy":0.5,"lr":0.1,"samples":128,"seconds":0.125,"data_wait_seconds":0.01,)"
      R"("compute_seconds":0.1,"optimizer_seconds":0.005,"collective_bytes":1000,)"
      R"("collective_seconds":0.02,"collectives":{"all_reduce":{"bytes":600,"seconds":0.015},)"
      R"("reduce_scatter":{"bytes":400,"seconds":0.005},"shard_replica":{"bytes":12,"seconds":0.25}},)"
      R"("overlap_ratio":0.75,"mfu":0.02,"gradient_norm":1.5,"slice_assignment":[3,1],)"
      R"("dealing":[3,1],"staleness":1.5,"work_item_seconds":0.5,"lease_seconds":0.5,)"
      R"("reads":[[[0,3,2],[1,4,1]],[]],"drift":0.25,"round_bytes":700,)"
      R"("rounds":[[1,2,5,true,[[0,5],[3,4]]]],"loss_scale":1024.0,"skipped_steps":3,)"
      R"("loss_scale_growths":2})");
  CHECK(to_json(StepRecord{}) ==
        R"({"step":0,"epoch":0,"time":"1970-01-01T00:00:00.000Z","loss":0.0,"accuracy":null,)"
        R"("lr":0.0,"samples":0,"seconds":0.0,"data_wait_seconds":0.0,"compute_seconds":0.0,)"
        R"("optimizer_seconds":0.0,"collective_bytes":0,"collective_seconds":0.0,)"
        R"("collectives":{},"overlap_ratio":0.0})");
}

TEST_CASE("a collective of shard replicas is read under its name before 0.2, too") {
  const auto step =
      parse_step(R"({"step":12,"collectives":{"buddy":{"bytes":12,"seconds":0.25}}})");
  REQUIRE(step);
  const auto& use = step->collectives[static_cast<std::size_t>(CollectiveKind::shard_replica)];
  CHECK(use.bytes == 12);
  CHECK(use.seconds == 0.25);
}

TEST_CASE("the lines of an epoch, a recovery and a sample have not changed since 0.2.0") {
  CHECK(to_json(full_epoch()) ==
        R"({"epoch":2,"step":29,"time":"2026-11-21T00:00:00.000Z","train_loss":1.5,)"
        R"("train_accuracy":0.5,"test_loss":1.25,"test_accuracy":0.625,"seconds":1.5,)"
        R"("test_seconds":0.25})");
  CHECK(to_json(full_recovery()) ==
        R"({"generation":2,"time":"2026-11-21T00:00:00.000Z",)"
        R"("reason":"node b:1 (rank 1) was lost","is_loss":true,"step":7,"steps_repeated":3,)"
        R"("world_size":2,"seconds":3.875,"detect_seconds":0.125,"halt_seconds":0.25,)"
        R"("heal_seconds":0.5,"connect_seconds":1.0,"first_step_seconds":2.0})");
  CHECK(to_json(full_generated()) ==
        R"({"step":20,"time":"2026-11-21T00:00:00.000Z","prompt":"And God",)"
        R"("text":" said,\nLet there be light.","tokens":7,"seconds":0.5})");
}

TEST_CASE("run.json and summary.json have not changed since 0.2.0") {
  CHECK(to_json(full_info()) == R"({
  "name": "small",
  "model": "resnet20",
  "dataset": "cifar10",
  "sample_name": "images",
  "tokens_per_sample": 64,
  "class_names": [
    "cat",
    "dog"
  ],
  "strategy": "ddp",
  "precision": "fp32",
  "world_size": 2,
  "batch_size": 128,
  "steps_per_epoch": 10,
  "total_steps": 30,
  "first_step": 5,
  "operations_per_step": 5000000000.0,
  "peak_operations_per_second": 3000000000000.0,
  "started": "2026-11-21T00:00:00Z",
  "host": "here",
  "version": "0.1.0",
  "recompute": {
    "activation_bytes": 100,
    "activation_bytes_without": 400,
    "operations_ratio": 0.25
  }
}
)");
  auto summary = full_summary();
  summary.workers.resize(1);
  CHECK(nlohmann::ordered_json::parse(to_json(summary)).dump() ==
        R"({"name":"small","status":"completed","error":"out of memory","epochs":3,"steps":30,)"
        R"("samples":3840,"seconds":4.5,"samples_per_second":1024.0,"mfu":0.02,)"
        R"("operations_per_step":5000000000.0,"tokens_per_sample":64,)"
        R"("loss":0.06666666666666667,"test_loss":1.25,"accuracy":0.625,"model":"resnet20",)"
        R"("dataset":"cifar10","class_names":["cat","dog"],"world_size":2,"strategy":"ddp",)"
        R"("precision":"fp32","batch_size":128,"steps_per_epoch":10,"total_steps":30,)"
        R"("first_step":5,)"
        R"("parameters_sha256":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",)"
        R"("overlap_ratio":0.75,"unreadable_samples":4,"unreadable_files":2,"checkpoints":3,)"
        R"("checkpoint_failures":1,"checkpoint_seconds":0.5,"checkpoint":"checkpoints/step-30",)"
        R"("workers":[{"rank":0,"device":"host:0","peak_memory_bytes":6291456,)"
        R"("memory_limit_bytes":83886080,"peak_operations_per_second":1000000000000.0,)"
        R"("parameter_bytes":1048576,"gradient_bytes":1048576,"optimizer_bytes":1048576,)"
        R"("busy_ratio":0.9,"steps":30,"step_seconds":4.0,"compute_seconds":3.0,)"
        R"("data_wait_seconds":0.25,"collective_seconds":0.5,"optimizer_seconds":0.125,)"
        R"("peak_bytes_by_kind":{"parameters":1048576,"gradients":1048576,"optimizer":1048576,)"
        R"("activations":1048576,"workspace":1048576,"data":1048576,"communication":1048576,)"
        R"("pinned":1048576}}],"started":"2026-11-21T00:00:00Z","host":"here",)"
        R"("version":"0.1.0","loss_scale":1024.0,"skipped_steps":3,"loss_scale_growths":2,)"
        R"("recompute":{"activation_bytes":100,"activation_bytes_without":400,)"
        R"("operations_ratio":0.25}})");
}

TEST_CASE("a step with values of other types keeps the others") {
  const auto step = parse_step(
      R"({"step":1,"epoch":"x","loss":2,"time":5,"collectives":7,"reads":[5],"rounds":[[1]],)"
      R"("samples":2.5,"slice_assignment":[3,1],"lr":null,"unknown":{"step":9}})");
  REQUIRE(step);
  CHECK(step->step == 1);
  CHECK(step->epoch == 0);
  CHECK(step->loss == 2);
  CHECK(step->samples == 0);
  CHECK(step->slice_assignment == std::vector{3, 1});
  CHECK(std::isnan(step->lr));
  CHECK(step->collectives == CollectiveUses{});
  CHECK_FALSE(parse_step(R"({"step":1.5})"));
}
