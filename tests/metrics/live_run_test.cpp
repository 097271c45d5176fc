// Tests the page of a run: applying changes to a document gives the next document, whatever
// happens; and the document from the start to the end of a run.
#include "core/error.hpp"
#include "metrics/live/live_run.hpp"
#include "tests/support/records.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>
#include <spdlog/logger.h>

#include <random>
#include <thread>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;
using namespace std::chrono_literals;
using Json = nlohmann::json;

namespace {

Json page_of(LiveRun& run) {
  return Json::parse(run.page().document());
}

/// Applies changes as a page does. Points from `from` on are replaced.
void apply_changes(Json& document, const std::string& text) {
  if (text.empty())
    return;
  const auto changed = Json::parse(text);
  for (const auto& [key, value] : changed.items())
    if (key != "steps") {
      document[key] = value;
    } else {
      auto& steps = document.at(key);
      const auto from = value.at("from").get<std::size_t>();
      for (const auto& [name, column] : value.items())
        if (column.is_array()) {
          auto& kept = steps.at(name);
          REQUIRE(from <= kept.size());
          kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(from), kept.end());
          kept.insert(kept.end(), column.begin(), column.end());
        }
      steps["per_point"] = value.at("per_point");
    }
}

/// Removes values that depend on the time of the call.
Json timeless(Json document) {
  document.erase("made");
  for (auto& node : document.at("nodes"))
    node.erase("heartbeat_age_seconds");
  return document;
}

/// Makes random events of a run.
class Chance {
public:
  explicit Chance(LiveRun& run, unsigned seed) : run_{run}, random_{seed} {}

  void happen() {
    switch (random_() % 10) {
    case 0:
      return run_.enter(static_cast<JobPhase>(random_() % 5));
    case 1:
      return run_.record(small_epoch(epoch_++));
    case 2:
      return run_.record(small_worker(static_cast<int>(random_() % 3)));
    case 3:
      return run_.record(
          {{.actor = "worker", .count = 2, .messages = static_cast<std::int64_t>(random_())},
           {.actor = "node"}});
    case 4:
      return random_() % 2
                 ? run_.record(CheckpointRecord{.step = step_, .path = "there", .bytes = 7})
                 : run_.record(CheckpointRecord{.failure = Error{Errc::io, "full"}});
    case 5:
      return run_.add({.time = {}, .level = "info", .text = std::to_string(random_())});
    case 6:
      run_.set_nodes({{.name = "one", .address = "a", .ranks = {0, 1}, .leads = true}},
                     random_() % 2 == 0);
      return run_.record_heartbeat("a");
    case 7:
      return run_.record_unreadable(static_cast<std::int64_t>(random_() % 4));
    default:
      for (auto count = random_() % 400; count > 0; --count)
        run_.record(small_step(step_++));
    }
  }

private:
  LiveRun& run_;
  std::mt19937 random_;
  std::int64_t step_ = 0, epoch_ = 0;
};

} // namespace

TEST_CASE("a document plus its changes equals the current document") {
  for (unsigned seed = 0; seed < 5; ++seed) {
    LiveRun run{small_run()};
    Chance chance{run, seed};
    auto document = page_of(run);
    const auto changes = run.page().changes;
    for (int i = 0; i < 60; ++i) {
      chance.happen();
      if (i % 3 == 0)
        apply_changes(document, changes());
      if (i % 20 == 7)
        document = page_of(run); // as for a new client
    }
    apply_changes(document, changes());
    CHECK(timeless(document) == timeless(page_of(run)));
    CHECK(changes().empty());
  }
}

TEST_CASE("changes contain only the parts that differ, and only the new points of steps") {
  LiveRun run{small_run()};
  const auto changes = run.page().changes;
  run.record(small_step(0));
  changes();
  run.record(small_step(1));
  auto now = Json::parse(changes());
  CHECK(now.at("steps").at("from") == 1);
  CHECK(now.at("steps").at("step") == Json{1});
  now.erase("made");
  CHECK(now.size() == 3); // and progress, step_seconds
  run.record(CheckpointRecord{.failure = Error{Errc::io, "full"}});
  now = Json::parse(changes());
  CHECK(now.at("checkpoints").at("failures") == 1);
  CHECK(now.size() == 2);
  run.record_unreadable(0); // no change
  CHECK(changes().empty());
}

TEST_CASE("a waiting daemon has a page, and one that could not start shows why") {
  LiveRun run{small_run()};
  run.set_config("run: {name: small}");
  spdlog::logger log{"test", run.log_sink()};
  for (int i = 0; i < 60; ++i)
    log.warn("line {}", i);
  log.debug("not for a page");
  auto document = page_of(run);
  CHECK(document.at("kind") == "run");
  CHECK(document.at("live") == true);
  CHECK(document.at("status") == "waiting");
  CHECK(document.at("run").at("name") == "small");
  CHECK(document.at("config") == "run: {name: small}");
  CHECK(document.at("timeline").is_null());
  REQUIRE(document.at("log").size() == 50);
  CHECK(document.at("log").front().at("text") == "line 10");
  CHECK(document.at("log").back().at("level") == "warning");
  CHECK(document.at("progress").at("loss").is_null());
  run.fail("no \"data\"");
  run.enter(JobPhase::failed);
  document = page_of(run);
  CHECK(document.at("status") == "failed");
  CHECK(document.at("error") == "no \"data\"");
}

TEST_CASE("the document shows a run's current state") {
  LiveRun run{small_run()};
  run.begin(small_run(), {}, 3);
  run.enter(JobPhase::training);
  for (std::int64_t step = 0; step < 15; ++step)
    run.record(small_step(step));
  run.record(small_epoch(0));
  run.record(small_worker(1));
  run.record(small_worker(0));
  run.set_nodes(
      {{.name = "one", .address = "one:7401", .page = "one:9401", .ranks = {0}, .leads = true},
       {.name = "two", .address = "two:7401", .ranks = {1}}},
      true);
  run.record_heartbeat("two:7401");
  const auto document = page_of(run);
  CHECK(document.at("status") == "training");
  CHECK(document.at("generation") == 3);
  CHECK(document.at("recoveries").empty());
  run.record(RecoveryRecord{.generation = 4, .reason = "another node has joined"});
  run.go_on(small_run(), 4);
  CHECK(page_of(run).at("recoveries").at(0).at("reason") == "another node has joined");
  CHECK(page_of(run).at("generation") == 4);
  CHECK(page_of(run).at("progress").at("steps") == 15); // earlier steps are still counted
  const auto& progress = document.at("progress");
  CHECK(progress.at("steps") == 15);
  CHECK(progress.at("epoch") == 1);
  CHECK(progress.at("epochs") == 3);
  CHECK(progress.at("samples") == 15 * 128);
  CHECK(progress.at("seconds") == 15 * 0.125 + 0.25);
  CHECK(progress.at("step_seconds") == 15 * 0.125);
  CHECK(progress.at("evaluation_seconds") == 0.25);
  CHECK(progress.at("operations_per_second").get<double>() == Catch::Approx(4e10));
  CHECK(progress.at("loss") == small_step(14).loss);
  CHECK(progress.at("test_loss") == 1.25);
  CHECK(progress.at("test_accuracy") == 0.625);
  CHECK(progress.at("overlap_ratio") == Catch::Approx(0.75));
  CHECK(progress.at("samples_per_second").get<double>() > 1023);
  CHECK(progress.at("seconds_left").get<double>() > 1.8);
  CHECK(document.at("epochs").size() == 1);
  const auto& workers = document.at("workers");
  REQUIRE(workers.size() == 2);
  CHECK(workers[0].at("rank") == 0);
  CHECK(workers[0].at("node") == "one");
  CHECK(workers[1].at("node") == "two");
  CHECK(workers[1].at("memory_bytes") == 3 << 20);
  CHECK(workers[1].at("memory_limit_bytes") == 80 << 20);
  CHECK(workers[1].at("bytes_by_kind").at("gradients") == 1 << 19);
  CHECK(workers[1].at("step_seconds") == 3.875 / 30);
  CHECK(workers[1].at("data_wait_ratio") == 0.25 / 4); // as a ratio of the time of its steps
  CHECK(workers[1].at("collective_ratio") == 0.5 / 4);
  CHECK(workers[1].at("optimizer_ratio") == 0.125 / 4);
  const auto& nodes = document.at("nodes");
  CHECK(nodes[0].at("leads") == true);
  CHECK(nodes[0].at("page") == "one:9401");
  CHECK(nodes[0].at("heartbeat_age_seconds").is_null());
  CHECK(nodes[1].at("page").is_null());
  CHECK(nodes[1].at("heartbeat_age_seconds").get<double>() >= 0);
}

TEST_CASE("workers, nodes and heartbeats leave the page with their generation") {
  const std::vector<NodeRecord> nodes = {{.name = "one", .address = "one:7401", .ranks = {0}},
                                         {.name = "two", .address = "two:7401", .ranks = {1}}};
  LiveRun run{small_run()};
  const auto begin = [&] {
    run.record(small_worker(0));
    run.record(small_worker(1));
    run.set_nodes(nodes, false);
    run.record_heartbeat("two:7401");
  };
  const auto check_empty = [&] {
    const auto document = page_of(run);
    CHECK(document.at("workers").empty());
    CHECK(document.at("nodes").empty());
    CHECK(document.at("leads") == true);
  };
  begin();
  CHECK(page_of(run).at("leads") == false);
  run.end_generation();
  check_empty();
  begin();
  run.go_on(small_run(), 2); // the end of the previous generation was not recorded
  check_empty();
  run.set_nodes(nodes, true);
  CHECK(page_of(run).at("nodes")[1].at("heartbeat_age_seconds").is_null());
}

TEST_CASE("the time that checkpoints delay steps is counted separately") {
  LiveRun run{small_run()};
  run.begin(small_run(), {}, 1);
  run.record(small_step(0));
  run.record(CheckpointRecord{.step = 1, .path = "there", .seconds = 3, .pause_seconds = 0.25});
  run.record(CheckpointRecord{.step = 2, .path = "there", .seconds = 3, .pause_seconds = 0.5});
  const auto progress = page_of(run).at("progress");
  CHECK(progress.at("checkpoint_seconds") == 0.75);
  CHECK(progress.at("seconds") == 0.125 + 0.75);
  CHECK(progress.at("step_seconds") == 0.125);
}

TEST_CASE("a static copy of the page shows a running run, and after its end the summary's status") {
  LiveRun run{small_run()};
  run.enter(JobPhase::evaluating);
  CHECK(Json::parse(run.standalone()).at("status") == "running");
  CHECK(Json::parse(run.standalone()).at("live") == false);
  auto summary = small_summary();
  summary.checkpoints = 2;
  summary.checkpoint = "there";
  run.finish(summary);
  run.enter(JobPhase::completed);
  const auto document = Json::parse(run.standalone());
  CHECK(document.at("status") == "completed");
  const auto& progress = document.at("progress");
  CHECK(progress.at("samples_per_second") == summary.samples_per_second);
  CHECK(progress.at("seconds") == summary.seconds);
  CHECK(progress.at("seconds_left").is_null());
  CHECK(progress.at("test_accuracy") == *summary.accuracy);
  CHECK(progress.at("parameters_sha256") == summary.parameters_sha256);
  CHECK(document.at("checkpoints").at("written") == 2);
  CHECK(document.at("checkpoints").at("path") == "there");
  CHECK(document.at("workers").size() == 2);
}

TEST_CASE("rates of actors cover the time since the previous request") {
  LiveRun run{small_run()};
  run.record(
      {{.actor = "worker", .count = 2, .size = 3, .messages = 100, .processing_seconds = 1}});
  auto actor = page_of(run).at("actors").at(0);
  CHECK(actor.at("messages") == 100);
  CHECK(actor.at("waiting") == 3);
  CHECK(actor.at("count") == 2);
  CHECK(actor.at("messages_per_second").is_null());
  std::this_thread::sleep_for(5ms);
  run.record({{.actor = "worker", .count = 2, .messages = 150, .processing_seconds = 1}});
  actor = page_of(run).at("actors").at(0);
  CHECK(actor.at("messages_per_second").get<double>() > 0);
  CHECK(actor.at("messages_per_second").get<double>() < 50 / 0.005);
  CHECK(actor.at("busy_ratio") == 0);
}

TEST_CASE("a timeline is recorded while the page is watched and shows the last complete step") {
  LiveRun run{small_run()};
  const auto trace = Trace::unwritten();
  const auto track = trace.track("rank 0", "compute");
  run.show_timeline_of(trace);
  run.enter(JobPhase::training);
  CHECK_FALSE(track.on());
  const auto watch = run.page().watched;
  watch(true);
  CHECK(track.on());
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  const auto commit = [&](std::int64_t step) {
    auto record = small_step(step);
    record.time = std::chrono::system_clock::now();
    run.record(record);
  };
  commit(0);
  run.sample_timeline();
  CHECK(page_of(run).at("timeline").is_null()); // the start of step 0 was not recorded
  const auto begin = now();
  track.add({.name = "forward", .subject = "stem"}, begin, begin + 1us);
  std::this_thread::sleep_for(2ms);
  commit(1);
  run.sample_timeline();
  const auto timeline = page_of(run).at("timeline");
  CHECK(timeline.at("step") == 1);
  CHECK(timeline.at("seconds").get<double>() >= 0.002);
  CHECK(timeline.at("dropped") == 0);
  CHECK(timeline.at("kinds").size() == 6);
  REQUIRE(timeline.at("rows").size() == 1);
  const auto& row = timeline.at("rows")[0];
  CHECK(row.at("group") == "rank 0");
  CHECK(row.at("name") == "compute");
  CHECK(row.at("spans")[0][1] == 1e-6);
  CHECK(row.at("spans")[0][3] == "forward stem");
  watch(false);
  CHECK_FALSE(track.on());
}
