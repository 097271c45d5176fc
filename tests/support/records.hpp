/// Records of a small run.
#pragma once

#include "metrics/records/epoch.hpp"
#include "metrics/records/generated.hpp"
#include "metrics/records/run.hpp"
#include "metrics/records/step.hpp"
#include "metrics/records/worker.hpp"

namespace troupe::testing {

inline metrics::RunInfo small_run() {
  metrics::RunInfo run;
  run.name = "small";
  run.model = "resnet20";
  run.dataset = "cifar10";
  run.strategy = StrategyKind::ddp;
  run.world_size = 2;
  run.batch_size = 128;
  run.steps_per_epoch = 10;
  run.total_steps = 30;
  run.checkpoint_interval = 10;
  run.operations_per_step = 5e9;
  run.host = "here";
  run.version = "0.1.0";
  run.started = std::chrono::sys_days{std::chrono::year{2026} / 11 / 21};
  return run;
}

/// Returns the record of a step, counted from 0.
inline metrics::StepRecord small_step(std::int64_t step) {
  return {.step = step,
          .epoch = step / 10,
          .loss = 2.0 / static_cast<double>(step + 1),
          .accuracy = 0.5,
          .lr = 0.1,
          .samples = 128,
          .slice_assignment = {3, 1},
          .staleness = 1.5,
          .item_seconds = 0.5,
          .seconds = 0.125,
          .data_wait_seconds = 0.01,
          .compute_seconds = 0.1,
          .optimizer_seconds = 0.005,
          .collective_bytes = 1000,
          .collective_seconds = 0.02,
          .collectives = {{{.bytes = 600, .seconds = 0.015}, {.bytes = 400, .seconds = 0.005}}},
          .overlap_ratio = 0.75,
          .mfu = 0.02,
          .gradient_norm = 1.5,
          .drift = 0.25,
          .round_bytes = 700};
}

/// Returns the record of a step in which every field has a value.
inline metrics::StepRecord full_step(std::int64_t step) {
  auto record = small_step(step);
  record.time =
      std::chrono::sys_days{std::chrono::year{2026} / 11 / 21} + std::chrono::seconds{step};
  record.collectives.back() = {.bytes = 12, .seconds = 0.25};
  record.reads = {{{.slice = 0, .read = 3, .parts = 2}, {.slice = 1, .read = 4, .parts = 1}}, {}};
  record.rounds = {{.owner = 1,
                    .fragment = 2,
                    .step = 5,
                    .is_synchronized = true,
                    .changes = {{.replica_group = 0, .step = 5}, {.replica_group = 3, .step = 4}}}};
  record.loss_scale = 1024;
  record.skipped_steps = 3;
  record.scale_growths = 2;
  return record;
}

inline metrics::EpochRecord small_epoch(std::int64_t epoch) {
  return {.epoch = epoch,
          .step = 10 * epoch + 9,
          .train_loss = 1.5,
          .train_accuracy = 0.5,
          .test_loss = 1.25,
          .test_accuracy = 0.625,
          .seconds = 1.5,
          .test_seconds = 0.25};
}

inline metrics::GeneratedRecord small_generated(std::int64_t step) {
  return {.step = step,
          .prompt = "And God",
          .text = " said,\nLet there be light.",
          .tokens = 7,
          .seconds = 0.5};
}

inline metrics::WorkerSummary small_worker(int rank) {
  metrics::WorkerSummary worker;
  worker.rank = rank;
  worker.device = "host:" + std::to_string(rank);
  worker.peak_memory_bytes = 6 << 20;
  worker.parameter_bytes = worker.gradient_bytes = worker.optimizer_bytes = 1 << 20;
  worker.busy_ratio = 0.9;
  worker.memory.current.fill(1 << 19);
  worker.memory.peak.fill(1 << 20);
  worker.memory.total = 3 << 20;
  worker.memory.total_peak = 6 << 20;
  worker.steps = 30;
  worker.compute_seconds = 3;
  worker.data_wait_seconds = 0.25;
  worker.collective_seconds = 0.5;
  worker.step_seconds = 4;
  worker.optimizer_seconds = 0.125;
  worker.ready_batches = 2;
  worker.memory_limit_bytes = 80 << 20;
  worker.peak_operations = 1e12;
  return worker;
}

inline metrics::RunSummary small_summary() {
  metrics::RunSummary summary;
  static_cast<metrics::RunInfo&>(summary) = small_run();
  summary.epochs = 3;
  summary.steps = 30;
  summary.samples = 3840;
  summary.seconds = 4.5;
  summary.samples_per_second = 1024;
  summary.mfu = 0.02;
  summary.loss = 2.0 / 30;
  summary.test_loss = 1.25;
  summary.accuracy = 0.625;
  summary.overlap_ratio = 0.75;
  summary.checkpoint_seconds = 0.5;
  summary.parameters_sha256 = std::string(64, 'a');
  summary.workers = {small_worker(0), small_worker(1)};
  return summary;
}

} // namespace troupe::testing
