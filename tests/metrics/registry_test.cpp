#include "metrics/registry/names.hpp"
#include "metrics/registry/registry.hpp"
#include "tests/metrics/text.hpp"
#include "tests/support/records.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <limits>
#include <set>
#include <sstream>
#include <thread>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

bool has_line(const Registry& registry, const std::string& line) {
  return ("\n" + registry.text()).find("\n" + line + "\n") != std::string::npos;
}

/// Returns every name that the text declares, with its type.
std::set<std::pair<std::string, std::string>> declared(const std::string& text) {
  std::set<std::pair<std::string, std::string>> result;
  std::istringstream in(text);
  for (std::string hash, type, name, kind; in >> hash;)
    if (hash == "#" && in >> type && type == "TYPE" && in >> name >> kind)
      result.emplace(name, kind);
  return result;
}

std::string to_string(MetricType type) {
  return type == MetricType::counter ? "counter"
         : type == MetricType::gauge ? "gauge"
                                     : "histogram";
}

/// Records each kind of record once.
void record_all(Registry& registry) {
  registry.begin(small_run(), true);
  registry.record(small_step(0));
  registry.record(small_epoch(0));
  registry.record(small_worker(0));
  registry.record(MailboxSample{
      .actor = "worker", .size = 2, .messages = 10, .seconds = 0.5, .processing_seconds = 4});
  registry.record(LoaderSample{.batches = 4, .seconds = 2, .decode_seconds = 1.5});
  registry.record(std::vector{HostMemory{"host", 6e9, 8e9}});
  registry.record(GpuSample{.rank = 0,
                            .gpu = "GPU-1",
                            .busy_ratio = 0.5,
                            .power_watts = 300,
                            .temperature_celsius = 65,
                            .sm_hertz = 2e9,
                            .memory_hertz = 3e9,
                            .memory_bytes = 2e10,
                            .memory_total_bytes = 8e10});
  registry.record(
      CheckpointRecord{.step = 10, .seconds = 0.3, .pause_seconds = 0.125, .bytes = 4096});
  registry.record(CheckpointRecord{.failure = Error{Errc::io, "full"}});
  registry.set_generation(2);
  registry.record(RecoveryRecord{.generation = 2, .is_loss = true, .halt = 0.25});
  registry.record_heartbeat("here");
  registry.set_phase(JobPhase::training);
  registry.record_failure("numeric");
}

} // namespace

TEST_CASE("the registry has exactly the listed metrics, with their types") {
  Registry registry(small_run());
  record_all(registry);
  std::set<std::pair<std::string, std::string>> listed;
  for (const auto& metric : names::all())
    listed.emplace(metric.name, to_string(metric.type));
  CHECK(listed.size() == names::all().size());
  CHECK(declared(registry.text()) == listed);
}

TEST_CASE("exactly one phase is 1, and readiness follows from it") {
  Registry registry(small_run());
  registry.set_phase(JobPhase::waiting);
  CHECK(has_line(registry, "troupe_phase{phase=\"waiting\"} 1"));
  CHECK(has_line(registry, "troupe_ready 0"));
  registry.set_phase(JobPhase::evaluating);
  for (const auto phase : job_phase_names) {
    const std::string value = phase == "evaluating" ? "1" : "0";
    CHECK(has_line(registry, "troupe_phase{phase=\"" + std::string{phase} + "\"} " + value));
  }
  CHECK(has_line(registry, "troupe_ready 1"));
  CHECK_FALSE(has(registry.text(), "troupe_last_error{"));
  registry.record_failure("out of memory");
  registry.set_phase(JobPhase::failed);
  CHECK(has_line(registry, "troupe_phase{phase=\"failed\"} 1"));
  CHECK(has_line(registry, "troupe_last_error{kind=\"out of memory\"} 1"));
  CHECK(has_line(registry, "troupe_ready 0"));
}

TEST_CASE("a leading node counts from zero and does not report metrics without a value") {
  const Registry registry(small_run());
  CHECK(has_line(registry, "troupe_steps_total 0"));
  CHECK(has_line(registry, "troupe_checkpoint_failures_total 0"));
  for (const char* name :
       {"troupe_epoch", "troupe_learning_rate", "troupe_step ", "troupe_last_step",
        "troupe_overlap_ratio", "troupe_loss{", "troupe_world_size"}) {
    CAPTURE(name);
    CHECK_FALSE(has(registry.text(), name));
  }
}

TEST_CASE("a following node reports only its own metrics") {
  Registry registry(small_run(), false);
  registry.begin(small_run(), false);
  registry.set_phase(JobPhase::training);
  registry.record(small_worker(1));
  std::set<std::string> told;
  for (const auto& [name, type] : declared(registry.text()))
    if (!name.starts_with("process_"))
      told.insert(name);
  CHECK(told == std::set<std::string>{
                    "troupe_build_info", "troupe_run_info", "troupe_phase", "troupe_ready",
                    "troupe_start_time_seconds", "troupe_world_size", "troupe_memory_bytes",
                    "troupe_memory_peak_bytes", "troupe_memory_total_bytes",
                    "troupe_memory_total_peak_bytes", "troupe_worker_busy_ratio",
                    "troupe_memory_limit_bytes", "troupe_peak_operations_per_second",
                    "troupe_rank_step_seconds_total", "troupe_rank_steps_total",
                    "troupe_loader_ready_batches", "troupe_unreadable_samples_total"});
}

TEST_CASE("a new leader reports the whole job's metrics, and a former leader only its own") {
  Registry registry(small_run(), false);
  registry.begin(small_run(), false);
  const auto of_a_follower = declared(registry.text());
  registry.begin(small_run(), true);
  CHECK(has_line(registry, "troupe_steps_total 0"));
  CHECK(has_line(registry, "troupe_step 0"));
  registry.record(small_step(0));
  registry.record(small_epoch(0));
  CHECK(has_line(registry, "troupe_steps_total 1"));
  CHECK(has(registry.text(), "troupe_loss{set=\"test\"}"));
  registry.begin(small_run(), false);
  CHECK(declared(registry.text()) == of_a_follower);
  registry.begin(small_run(), true);
  CHECK(has_line(registry, "troupe_steps_total 0"));
}

TEST_CASE(
    "series of ranks and peers end with their generation, and counters restart with the next") {
  Registry registry(small_run());
  record_all(registry);
  const auto is_of_a_generation = [&](const std::string& text) {
    return has(text, "rank=\"") || has(text, "peer=\"") || has(text, "troupe_world_size");
  };
  REQUIRE(is_of_a_generation(registry.text()));
  const bool seen = GENERATE(true, false);
  if (seen) {
    registry.end_generation();
    CHECK_FALSE(is_of_a_generation(registry.text()));
  }
  registry.begin(small_run(), true);
  CHECK_FALSE(has(registry.text(), "rank=\""));
  auto worker = small_worker(0);
  worker.steps = 3; // steps of the new generation
  registry.record(worker);
  CHECK(has_line(registry, "troupe_rank_steps_total{rank=\"0\"} 3"));
  CHECK(has_line(registry, "troupe_steps_total 1")); // steps of the process
}

TEST_CASE("unreadable samples are counted up to their reported total") {
  Registry registry(small_run(), false);
  CHECK(has_line(registry, "troupe_unreadable_samples_total 0"));
  registry.record_unreadable(3);
  registry.record_unreadable(3);
  registry.record_unreadable(5);
  CHECK(has_line(registry, "troupe_unreadable_samples_total 5"));
}

TEST_CASE("metric names have the prefix and the suffix of their type") {
  for (const auto& metric : names::all()) {
    CAPTURE(metric.name);
    CHECK((metric.name.starts_with("troupe_") || metric.name.starts_with("process_")));
    CHECK(metric.name.ends_with("_total") == (metric.type == MetricType::counter));
    CHECK(!metric.help.empty());
  }
}

TEST_CASE("steps add up in counters and show their last values in gauges") {
  Registry registry(small_run());
  registry.record(small_step(0));
  registry.record(small_step(1));
  CHECK(has_line(registry, "troupe_steps_total 2"));
  CHECK(has_line(registry, "troupe_samples_total 256"));
  CHECK(has_line(registry, "troupe_collective_bytes_total{kind=\"all_reduce\"} 1200"));
  CHECK(has_line(registry, "troupe_collective_bytes_total{kind=\"reduce_scatter\"} 800"));
  CHECK(has_line(registry, "troupe_collective_seconds_total{kind=\"all_reduce\"} 0.03"));
  CHECK_FALSE(has(registry.text(), "kind=\"broadcast\""));
  CHECK(has_line(registry, "troupe_gradient_norm 1.5"));
  CHECK(has_line(registry, "troupe_worker_drift_ratio 0.25"));
  CHECK(has_line(registry, "troupe_step 2"));
  CHECK(has_line(registry, "troupe_epoch 1"));
  CHECK(has_line(registry, "troupe_loss{set=\"train\"} 1"));
  CHECK(has_line(registry, "troupe_step_seconds_count 2"));
  CHECK(has_line(registry, "troupe_step_seconds_bucket{le=\"0.1\"} 0"));
  CHECK(has_line(registry, "troupe_step_seconds_bucket{le=\"0.15\"} 2"));
}

TEST_CASE("the bytes of a round are shown until another round has sent some") {
  Registry registry(small_run());
  auto step = small_step(0);
  step.round_bytes = 0;
  registry.record(step);
  CHECK_FALSE(has(registry.text(), "troupe_round_bytes"));
  registry.record(small_step(1));
  CHECK(has_line(registry, "troupe_round_bytes 700"));
  registry.record(step);
  CHECK(has_line(registry, "troupe_round_bytes 700"));
}

TEST_CASE("a NaN loss is shown and does not affect counters") {
  Registry registry(small_run());
  auto step = small_step(0);
  step.loss = std::numeric_limits<double>::quiet_NaN();
  step.data_wait_seconds = step.loss;
  registry.record(step);
  CHECK(has_line(registry, "troupe_loss{set=\"train\"} NaN"));
  CHECK(has_line(registry, "troupe_data_wait_seconds_total 0"));
}

TEST_CASE("the loss that ends a run is shown, although its step is not counted") {
  Registry registry(small_run());
  registry.record(small_step(0));
  registry.record_failed_loss(std::numeric_limits<double>::quiet_NaN());
  CHECK(has_line(registry, "troupe_loss{set=\"train\"} NaN"));
  CHECK(has_line(registry, "troupe_steps_total 1"));
}

TEST_CASE("the time left follows from the durations of steps, evaluations and pauses") {
  Registry registry(small_run());
  registry.begin(small_run(), true);
  CHECK_FALSE(has(registry.text(), "troupe_time_left_seconds"));
  registry.record(small_step(0));
  CHECK(has_line(registry, "troupe_time_left_seconds 3.625")); // 29 steps of 0.125 s
  registry.record(small_epoch(0));
  CHECK(has_line(registry, "troupe_time_left_seconds 10.875")); // 29 steps of 0.125 + 0.25 s
  registry.record(CheckpointRecord{.step = 1, .pause_seconds = 0.125});
  CHECK(has_line(registry, "troupe_time_left_seconds 14.5"));
  for (std::int64_t step = 1; step < 30; ++step)
    registry.record(small_step(step));
  CHECK(has_line(registry, "troupe_time_left_seconds 0"));
}

TEST_CASE("operations are counted for the steps of this run") {
  Registry registry(small_run());
  registry.begin(small_run(), true);
  registry.record(small_step(0));
  registry.record(small_step(1));
  CHECK(has_line(registry, "troupe_operations_total 10000000000"));
}

TEST_CASE(
    "a checkpoint has a size, a duration and a pause, and a resumed run starts with its step") {
  auto run = small_run();
  run.first_step = 7;
  Registry registry(run);
  registry.begin(run, true);
  CHECK(has_line(registry, "troupe_checkpoint_step 7"));
  CHECK(has_line(registry, "troupe_checkpoint_interval_steps 10"));
  CHECK_FALSE(has(registry.text(), "troupe_checkpoint_time_seconds"));
  registry.record(
      CheckpointRecord{.step = 10, .seconds = 0.5, .pause_seconds = 0.125, .bytes = 4096});
  CHECK(has_line(registry, "troupe_checkpoint_step 10"));
  CHECK(has_line(registry, "troupe_checkpoint_bytes 4096"));
  CHECK(has_line(registry, "troupe_checkpoint_seconds_sum 0.5"));
  CHECK(has_line(registry, "troupe_save_seconds_sum 0.125"));
  CHECK(has(registry.text(), "troupe_checkpoint_time_seconds 1"));
}

TEST_CASE("a run without checkpoints has no checkpoint interval") {
  auto run = small_run();
  run.checkpoint_interval = 0;
  Registry registry(run);
  registry.begin(run, true);
  CHECK_FALSE(has(registry.text(), "troupe_checkpoint_interval_steps"));
}

TEST_CASE("a memory limit that is lifted is no longer reported") {
  Registry registry(small_run(), false);
  registry.record(std::vector{HostMemory{"host", 6e9, 8e9}, HostMemory{"cgroup", 1e9, 2e9}});
  CHECK(has_line(registry, "troupe_host_memory_bytes{limit=\"cgroup\"} 1000000000"));
  registry.record(std::vector{HostMemory{"host", 7e9, 8e9}});
  CHECK(has_line(registry, "troupe_host_memory_bytes{limit=\"host\"} 7000000000"));
  CHECK_FALSE(has(registry.text(), "cgroup"));
}

TEST_CASE("the step times of a rank are reported by part") {
  Registry registry(small_run(), false);
  registry.record(small_worker(1));
  const std::string name = "troupe_rank_step_seconds_total";
  CHECK(has_line(registry, name + "{part=\"compute\",rank=\"1\"} 3"));
  CHECK(has_line(registry, name + "{part=\"data\",rank=\"1\"} 0.25"));
  CHECK(has_line(registry, name + "{part=\"collectives\",rank=\"1\"} 0.5"));
  CHECK(has_line(registry, "troupe_rank_steps_total{rank=\"1\"} 30"));
  CHECK(has_line(registry, "troupe_loader_ready_batches{rank=\"1\"} 2"));
}

TEST_CASE("mailbox counters follow totals that are counted elsewhere") {
  Registry registry(small_run());
  registry.record(MailboxSample{.actor = "worker", .size = 2, .messages = 10, .seconds = 0.5});
  registry.record(MailboxSample{.actor = "worker", .size = 0, .messages = 25, .seconds = 0.75});
  CHECK(has_line(registry, "troupe_mailbox_messages_total{actor=\"worker\"} 25"));
  CHECK(has_line(registry, "troupe_mailbox_seconds_total{actor=\"worker\"} 0.75"));
  CHECK(has_line(registry, "troupe_mailbox_size{actor=\"worker\"} 0"));
}

TEST_CASE("memory is reported by rank and kind") {
  Registry registry(small_run());
  registry.record(small_worker(0));
  registry.record(small_worker(1));
  CHECK(has_line(registry, "troupe_memory_bytes{kind=\"activations\",rank=\"1\"} 524288"));
  CHECK(has_line(registry, "troupe_memory_total_peak_bytes{rank=\"0\"} 6291456"));
}

TEST_CASE("a limit of host memory that no longer exists is omitted") {
  Registry registry(small_run());
  registry.record({HostMemory{"host", 5, 50}, HostMemory{"cgroup", 6, 60}});
  CHECK(has_line(registry, "troupe_host_memory_bytes{limit=\"cgroup\"} 6"));
  registry.record({HostMemory{"host", 7, 50}});
  CHECK(has_line(registry, "troupe_host_memory_bytes{limit=\"host\"} 7"));
  CHECK(has_line(registry, "troupe_host_memory_limit_bytes{limit=\"host\"} 50"));
  CHECK_FALSE(testing::has(registry.text(), "limit=\"cgroup\""));
}

TEST_CASE("threads may record and read at the same time") {
  Registry registry(small_run());
  std::thread reader([&registry] {
    for (int i = 0; i < 50; ++i)
      (void)registry.text();
  });
  for (int i = 0; i < 500; ++i)
    record_all(registry);
  reader.join();
  CHECK(has_line(registry, "troupe_steps_total 500"));
}
