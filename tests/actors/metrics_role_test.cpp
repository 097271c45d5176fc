// Tests METRICS with a real view: the metrics that Prometheus reads, and the files of a run's
// folder.
#include "actors/roles/metrics_role.hpp"
#include "cpu/host_device.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/full_disk.hpp"
#include "tests/actors/small_job.hpp"
#include "tests/support/image_files.hpp"
#include "tests/support/records.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using testing::small_run;

namespace {

/// METRICS of the leader or of another node.
struct Audience : test::Deterministic {
  explicit Audience(bool leads = true, Config in_folder = test::small_job())
      : exposition{metrics::Exposition::open("off", small_run(), leads).value()} {
    in_folder.run.output = folder.path().string();
    job = training::open_job(in_folder, {}).value();
    auto assignment = training::single_node_assignment(2, "here");
    assignment.generation.nodes.front().workers = 1;
    assignment.generation.nodes.push_back({.address = {}, .host = "there", .first_rank = 1});
    assignment.node = leads ? 0 : 1;
    auto view =
        RunView::open(*job, small_run(), assignment, true, false, {.quiet = true}, *exposition);
    REQUIRE(view);
    metrics = test::spawn_state<MetricsState, metrics_actor>(
        system, MetricsSetup{.view = std::move(*view), .address = "here:7401"});
    scheduler.run();
  }
  ~Audience() {
    self->send_exit(metrics, caf::exit_reason::kill);
    scheduler.run();
    while (scheduler.has_job() || scheduler.trigger_timeout())
      scheduler.run();
  }

  template <class... Message>
  void tell(Message&&... message) {
    self->send(metrics, std::forward<Message>(message)...);
    scheduler.run();
  }
  void commit(std::int64_t step) { record(testing::small_step(step)); }
  void record(RunRecord event) {
    tell(atom::record_v, std::make_shared<const RunRecord>(std::move(event)));
  }
  RunOutcome finish(std::string status, std::optional<Error> error = {}) {
    RunOutcome outcome{.summary = {small_run()}, .error = std::move(error)};
    outcome.summary.status = std::move(status);
    RunOutcome shown;
    auto asked = self->request(metrics, caf::infinite, atom::finish_v,
                               RunOutcomePtr{std::make_shared<const RunOutcome>(outcome)});
    scheduler.run();
    asked.receive([&](const RunOutcomePtr& answer) { shown = *answer; },
                  [](const caf::error& why) { FAIL(caf::to_string(why)); });
    return shown;
  }
  /// Whether Prometheus reads this line.
  bool shows(const std::string& line) const {
    return ("\n" + exposition->registry().text()).find("\n" + line + "\n") != std::string::npos;
  }
  /// Returns the document of its page.
  nlohmann::json page() const {
    return nlohmann::json::parse(exposition->live().page().document());
  }
  std::string file(const std::string& name) const {
    return testing::read_bytes(folder.path() / "small" / name);
  }

  testing::ScratchFolder folder;
  std::unique_ptr<metrics::Exposition> exposition;
  std::shared_ptr<const training::Job> job;
  metrics_actor metrics;
};

std::ptrdiff_t lines(const std::string& text) {
  return std::ranges::count(text, '\n');
}

} // namespace

TEST_CASE("each step is counted once and is one line in the run's folder") {
  Audience audience;
  CHECK(audience.shows("troupe_steps_total 0"));
  for (std::int64_t step = 0; step < 3; ++step)
    audience.commit(step);
  CHECK(audience.shows("troupe_steps_total 3"));
  CHECK(audience.shows("troupe_samples_total 384"));
  CHECK(audience.shows("troupe_step 3"));
  CHECK(audience.shows("troupe_step_seconds_count 3"));
  CHECK(lines(audience.file("events.jsonl")) == 3);
}

TEST_CASE("the largest peak that a step reports is in run.json and on the page") {
  Audience audience;
  const auto peaks = [&] {
    const auto file = nlohmann::json::parse(audience.file("run.json"));
    CHECK(file == audience.page().at("run"));
    return file.at("peak_operations_per_second");
  };
  CHECK(peaks().is_null());
  for (const auto& [peak, largest] : {std::pair{3e12, 3e12}, {2e12, 3e12}, {4e12, 4e12}}) {
    auto step = testing::small_step(0);
    step.peak_operations = peak;
    audience.record(step);
    CHECK(peaks() == largest);
  }
}

TEST_CASE("the end of an epoch is reported with its evaluation") {
  Audience audience;
  audience.record(testing::small_epoch(0));
  CHECK(audience.shows("troupe_loss{set=\"test\"} 1.25"));
  CHECK(audience.shows("troupe_accuracy_ratio{set=\"test\"} 0.625"));
  CHECK(lines(audience.file("epochs.jsonl")) == 1);
}

TEST_CASE("unreadable files are counted in the metrics and the summary") {
  namespace files = testing;
  const files::ScratchFolder images;
  for (int i = 0; i < 4; ++i)
    files::write_png(images / ("train/cat/" + std::to_string(i) + ".png"), files::pattern(8, 8, 3),
                     8, 8, 3);
  files::truncate(images / "train/cat/2.png", 40);
  auto config = test::small_job();
  config.model.num_classes = 1;
  config.train.evaluate_every = 0;
  config.data.dataset = "image_folder";
  config.data.root = images.path().string();
  config.data.batch_size = 4;
  config.data.shuffle = false;
  config.data.skip_unreadable = true;
  Audience audience{true, config};
  CHECK(audience.shows("troupe_unreadable_samples_total 0"));
  auto device = cpu::make_host_device(0, 1);
  const auto buffer = audience.job->training->allocate(*device, {}).value();
  REQUIRE(audience.job->training->fill({0, 0}, {}, buffer.fields()));
  REQUIRE(audience.job->training->fill({1, 0}, {}, buffer.fields()));
  audience.tell(atom::tick_v);
  CHECK(audience.shows("troupe_unreadable_samples_total 2"));
  const auto outcome = audience.finish("completed");
  CHECK(outcome.summary.unreadable_samples == 2);
  CHECK(outcome.summary.unreadable_files == 1);
}

TEST_CASE("a node that does not lead exports its phase and workers, and writes no folder") {
  Audience audience{false};
  audience.tell(atom::status_v, metrics::JobPhase::training);
  audience.tell(atom::status_v, WorkerSummaries{testing::small_worker(1)});
  CHECK(audience.shows("troupe_phase{phase=\"training\"} 1"));
  CHECK_THAT(audience.exposition->registry().text(),
             ContainsSubstring("troupe_worker_busy_ratio{rank=\"1\"}"));
  CHECK(audience.finish("completed").summary.status == "completed");
  CHECK_FALSE(std::filesystem::exists(audience.folder.path() / "small"));
}

TEST_CASE("everything reported to METRICS is on the run's page") {
  Audience audience;
  audience.tell(
      atom::join_v,
      std::vector<metrics::NodeRecord>{{.name = "one",
                                        .address = "here:7401",
                                        .page = "here:9401",
                                        .version = "0.1.0",
                                        .state = "active",
                                        .devices = {"host:0"},
                                        .ranks = {0}},
                                       {.name = "other", .address = "there:7401", .ranks = {1}}},
      heartbeat_actor{audience.metrics});
  audience.tell(atom::status_v, metrics::JobPhase::training);
  for (std::int64_t step = 0; step < 3; ++step)
    audience.commit(step);
  audience.record(testing::small_epoch(0));
  audience.record(testing::small_generated(3));
  audience.tell(atom::status_v, WorkerSummaries{testing::small_worker(0)});
  audience.record(
      metrics::CheckpointRecord{.step = 3, .path = "somewhere", .seconds = 0.5, .bytes = 4096});
  audience.tell(atom::failed_v, std::int64_t{4}, Error{Errc::io, "the tokenizer is gone"});
  CHECK(audience.page().at("log").back().at("text") ==
        "the sample of step 4 was not written: " +
            Error{Errc::io, "the tokenizer is gone"}.to_string());
  audience.record(
      metrics::CheckpointRecord{.step = 4, .failure = Error{Errc::no_space, "it is full"}});
  audience.tell(atom::alive_v, std::string{"there:7401"});
  audience.tell(atom::tick_v);
  const auto page = audience.page();
  CHECK(page.at("status") == "training");
  CHECK(page.at("progress").at("steps") == 3);
  CHECK(page.at("steps").at("loss")[2] == Catch::Approx(testing::small_step(2).loss));
  CHECK(page.at("epochs")[0].at("test_accuracy") == 0.625);
  CHECK(page.at("generated")[0].at("text") == testing::small_generated(3).text);
  CHECK(lines(audience.file("samples.jsonl")) == 1);
  CHECK(page.at("workers")[0].at("node") == "one");
  CHECK(page.at("nodes")[0].at("page") == "here:9401");
  CHECK(page.at("nodes")[0].at("leads") == true);
  CHECK(page.at("nodes")[1].at("heartbeat_age_seconds").get<double>() < 60);
  CHECK(page.at("checkpoints").at("written") == 1);
  CHECK(page.at("checkpoints").at("last_bytes") == 4096);
  CHECK(page.at("checkpoints").at("failures") == 1);
  bool has_metrics = false;
  for (const auto& actor : page.at("actors"))
    has_metrics |= actor.at("name") == "metrics" && actor.at("messages") > 5;
  CHECK(has_metrics);
  CHECK(page.at("log").back().at("text") ==
        "the checkpoint of step 4 was not written: no space left: it is full");
  CHECK(page.at("log").back().at("level") == "error");
}

TEST_CASE("the leader's page shows the workers of all nodes, and /metrics only its own") {
  Audience audience;
  audience.tell(atom::status_v,
                WorkerSummaries{testing::small_worker(0), testing::small_worker(1)});
  CHECK(audience.page().at("workers").size() == 2);
  const auto text = audience.exposition->registry().text();
  CHECK_THAT(text, ContainsSubstring("rank=\"0\""));
  CHECK_THAT(text, !ContainsSubstring("rank=\"1\""));
}

TEST_CASE("after a generation its workers disappear from /metrics and from the page") {
  const bool leads = GENERATE(true, false);
  Audience audience{leads};
  audience.tell(atom::status_v, WorkerSummaries{testing::small_worker(leads ? 0 : 1)});
  REQUIRE_THAT(audience.exposition->registry().text(), ContainsSubstring("rank=\""));
  audience.tell(atom::release_v);
  CHECK_THAT(audience.exposition->registry().text(), !ContainsSubstring("rank=\""));
  CHECK(audience.page().at("workers").empty());
}

TEST_CASE("the page of a node that does not lead shows its workers and their progress") {
  Audience audience{false};
  auto worker = testing::small_worker(1);
  worker.steps = 7;
  audience.tell(atom::status_v, WorkerSummaries{worker});
  const auto page = audience.page();
  CHECK(page.at("workers")[0].at("rank") == 1);
  CHECK(page.at("progress").at("steps") == 7);
  CHECK(page.at("progress").at("loss").is_null());
  audience.finish("completed");
  CHECK(audience.page().at("status") == "completed");
}

TEST_CASE("the report is written at the start and again at the end") {
  Audience audience;
  const auto report = [&] { return audience.file("report.html"); };
  CHECK_THAT(report(), ContainsSubstring("\"running\""));
  audience.commit(0);
  audience.finish("completed");
  CHECK_THAT(report(), ContainsSubstring("\"completed\""));
  CHECK_THAT(audience.file("run.json"), ContainsSubstring("\"resnet20\""));
}

TEST_CASE("one phase is shown at a time, and the final one stays") {
  Audience audience;
  audience.tell(atom::status_v, metrics::JobPhase::training);
  audience.tell(atom::status_v, metrics::JobPhase::evaluating);
  CHECK(audience.shows("troupe_phase{phase=\"evaluating\"} 1"));
  CHECK(audience.shows("troupe_phase{phase=\"training\"} 0"));
  audience.finish("stopped");
  audience.tell(atom::status_v, metrics::JobPhase::training); // arrived late
  CHECK(audience.shows("troupe_phase{phase=\"stopped\"} 1"));
  CHECK(audience.shows("troupe_phase{phase=\"training\"} 0"));
}

TEST_CASE("the reason of a failure is shown and is in the summary") {
  Audience audience;
  audience.tell(atom::failed_v, std::numeric_limits<double>::quiet_NaN());
  CHECK(audience.shows("troupe_loss{set=\"train\"} NaN"));
  CHECK(audience.shows("troupe_steps_total 0")); // no step was committed
  const Error error{Errc::numeric, "the loss is nan", {.rank = 1}};
  CHECK(audience.finish("failed", error).error->message == "the loss is nan");
  CHECK(audience.shows("troupe_last_error{kind=\"numeric\"} 1"));
  CHECK(audience.shows("troupe_phase{phase=\"failed\"} 1"));
  CHECK_THAT(audience.file("summary.json"), ContainsSubstring("\"failed\""));
  CHECK_THAT(audience.file("report.html"), ContainsSubstring("<html"));
}

TEST_CASE("completed and failed checkpoints are counted separately") {
  Audience audience;
  audience.record(metrics::CheckpointRecord{.step = 10, .path = "somewhere", .seconds = 0.5});
  audience.record(metrics::CheckpointRecord{
      .step = 20, .path = "somewhere", .failure = Error{Errc::no_space, "full"}});
  CHECK(audience.shows("troupe_checkpoints_total 1"));
  CHECK(audience.shows("troupe_checkpoint_failures_total 1"));
  CHECK(audience.shows("troupe_checkpoint_step 10"));
}

TEST_CASE("a checkpoint's size and pause are shown") {
  Audience audience;
  audience.record(metrics::CheckpointRecord{
      .step = 10, .path = "somewhere", .seconds = 0.5, .pause_seconds = 0.125, .bytes = 4096});
  CHECK(audience.shows("troupe_checkpoint_bytes 4096"));
  CHECK(audience.shows("troupe_save_seconds_sum 0.125"));
}

TEST_CASE("each node sends the leader a heartbeat every second") {
  Audience leader;
  const auto heard = [&](const std::string& peer) {
    return leader.exposition->registry().text().find("troupe_heartbeat_time_seconds{peer=\"" +
                                                     peer + "\"}") != std::string::npos;
  };
  const std::vector<metrics::NodeRecord> nodes = {{.name = "one", .address = "here:7401"},
                                                  {.name = "other", .address = "there:7401"}};
  leader.tell(atom::alive_v, std::string{"there:7401"});
  CHECK_FALSE(heard("other")); // the node is still unknown
  leader.tell(atom::join_v, nodes, heartbeat_actor{leader.metrics});
  CHECK_FALSE(heard("one"));
  leader.scheduler.advance_time(1s);
  leader.scheduler.run();
  CHECK(heard("one")); // the leader itself
  CHECK_FALSE(heard("other"));
  leader.tell(atom::alive_v, std::string{"there:7401"});
  CHECK(heard("other"));
}

TEST_CASE("memory of the host and of its loader threads is sampled") {
  Audience audience;
  CHECK_THAT(audience.exposition->registry().text(),
             ContainsSubstring("troupe_host_memory_limit_bytes{limit=\"host\"}"));
}

TEST_CASE("the waiting time of messages is sampled every second, by role") {
  Audience audience;
  for (std::int64_t step = 0; step < 5; ++step)
    audience.commit(step);
  const std::string name = "troupe_mailbox_messages_total{actor=\"metrics\"} ";
  const auto messages = [&] {
    const auto text = audience.exposition->registry().text();
    const auto at = text.find(name);
    return at == std::string::npos ? -1 : std::stoi(text.substr(at + name.size()));
  };
  const auto before = messages(); // initial count
  audience.scheduler.advance_time(999ms);
  audience.scheduler.run();
  CHECK(messages() == before);
  audience.scheduler.advance_time(1ms);
  audience.scheduler.run();
  CHECK(messages() >= before + 5);
  CHECK(audience.shows("troupe_mailbox_size{actor=\"metrics\"} 1")); // the tick itself
  const auto second = messages();
  audience.scheduler.advance_time(1s);
  audience.scheduler.run();
  CHECK(messages() == second + 1); // the tick
}

TEST_CASE("lines that do not fit on a full disk are written once they fit") {
  Audience audience;
  audience.commit(0);
  {
    const test::FullDisk full{64};
    audience.commit(1);
  }
  CHECK(std::ranges::count(audience.file("events.jsonl"), '\n') == 1);
  audience.commit(2);
  CHECK(std::ranges::count(audience.file("events.jsonl"), '\n') == 3);
  CHECK(audience.finish("completed").summary.status == "completed");
}

TEST_CASE("a run.json that does not fit on a full disk is written at the end of the run") {
  Audience audience;
  auto step = testing::small_step(0);
  step.peak_operations = 3e12;
  {
    const test::FullDisk full{64};
    audience.record(step);
  }
  CHECK(audience.finish("completed").summary.status == "completed");
  CHECK(nlohmann::json::parse(audience.file("run.json")).at("peak_operations_per_second") == 3e12);
}

TEST_CASE("a full disk does not end a run, but the run has failed at its end") {
  Audience audience;
  for (int step = 0; step < 20; ++step)
    audience.commit(step);
  const test::FullDisk full{4096}; // space for a summary, but for no more steps
  audience.commit(20);
  audience.commit(21);
  CHECK(audience.shows("troupe_steps_total 22"));
  const auto outcome = audience.finish("completed");
  CHECK(outcome.summary.status == "failed");
  REQUIRE(outcome.error);
  CHECK(outcome.error->code == Errc::no_space);
  CHECK_THAT(outcome.error->message, ContainsSubstring("the run's logs are incomplete"));
  CHECK(audience.shows("troupe_last_error{kind=\"no space left\"} 1"));
  CHECK_THAT(audience.file("summary.json"), ContainsSubstring("\"failed\""));
}

TEST_CASE("a failed run keeps its error although its logs are incomplete") {
  Audience audience;
  {
    const test::FullDisk full{64};
    audience.commit(0);
  }
  const auto outcome = audience.finish("failed", Error{Errc::device, "it is on fire"});
  REQUIRE(outcome.error);
  CHECK(outcome.error->code == Errc::device);
  CHECK(audience.shows("troupe_last_error{kind=\"device\"} 1"));
}
