// Tests every expression of every panel and every rule, on a real job of two daemons that a real
// Prometheus has found by /sd.
#include "tests/support/image_files.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/language_runs.hpp"
#include "tests/system/panel_checks.hpp"
#include "tests/system/quick_rules.hpp"

#include <catch2/catch_test_macros.hpp>

#include <regex>
#include <set>
#include <string>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Whether an expression has values only when a job has failed.
bool needs_failure(const std::string& expression) {
  return has(expression, "troupe_last_error");
}

/// Returns the series that a rule reads: "troupe_phase{...}".
std::set<std::string> selectors_in(const std::string& rule) {
  const std::regex selector{R"((troupe|process)_[a-z_]+(\{[^}]*\})?)"};
  std::set<std::string> all;
  for (std::sregex_iterator at{rule.begin(), rule.end(), selector}, end; at != end; ++at)
    all.insert(at->str());
  return all;
}

void check_variables(const PrometheusServer& prometheus) {
  const std::regex values{R"(label_values\((.*), ([a-z]+)\))"};
  for (const std::string name : dashboard_names) {
    const auto dashboard = read_dashboard(name);
    for (const auto& variable : dashboard.at("templating").at("list")) {
      const auto definition = variable.value("definition", "");
      std::smatch parts;
      if (!std::regex_match(definition, parts, values))
        continue;
      CAPTURE(name, definition);
      const auto series =
          found(prometheus, "count by (" + parts.str(2) + ") (" + filled_in(parts.str(1)) + ")");
      CHECK(series.size() == (parts.str(2) == "node" ? 2U : 1U));
    }
  }
}

/// Checks metrics that are above zero in a job that trains on image files, with a GPU or without.
void check_amounts(const PrometheusServer& prometheus) {
  for (const char* name : {"troupe_gradient_norm",
                           "troupe_time_left_seconds",
                           "troupe_evaluation_seconds_sum",
                           "troupe_checkpoint_bytes",
                           "troupe_checkpoint_seconds_sum",
                           "troupe_save_seconds_sum",
                           "troupe_operations_total",
                           "troupe_collective_bytes_total{kind=\"all_reduce\"}",
                           "troupe_collective_seconds_total{kind=\"all_reduce\"}",
                           "troupe_loader_seconds_total",
                           "troupe_loader_batches_total",
                           "troupe_decode_seconds_total",
                           "troupe_rank_step_seconds_total{part=\"compute\"}",
                           "troupe_rank_step_seconds_total{part=\"collectives\"}",
                           "troupe_host_memory_bytes",
                           "troupe_host_memory_limit_bytes",
                           "process_cpu_seconds_total",
                           "process_resident_memory_bytes",
                           "process_open_fds",
                           "process_threads"}) {
    CAPTURE(name);
    CHECK_FALSE(found(prometheus, std::string{name} + " > 0").empty());
  }
  CHECK_FALSE(
      found(prometheus, "troupe_decode_seconds_total < troupe_loader_seconds_total").empty());
  CHECK_FALSE(found(prometheus, "count(troupe_heartbeat_time_seconds) == 2").empty());
  CHECK_FALSE(found(prometheus, "time() - troupe_checkpoint_time_seconds < 600").empty());
}

/// Writes 24 images of two classes for training, and 12 for evaluation.
void write_photos(const std::filesystem::path& root) {
  for (const auto& [split, count] : {std::pair{"train", 24}, std::pair{"val", 12}})
    for (int i = 0; i < count; ++i)
      testing::write_png(root / split / (i % 2 == 0 ? "cat" : "dog") / (std::to_string(i) + ".png"),
                         testing::pattern(20, 20, 3), 20, 20, 3);
}

void check_rules(const PrometheusServer& prometheus) {
  REQUIRE(becomes_true([&] {
    return !prometheus.series("ALERTS_FOR_STATE or up").empty() &&
           prometheus.api("rules").at("groups").at(0).at("rules").at(0).at("health") != "unknown";
  }));
  const auto groups = prometheus.api("rules").at("groups");
  std::size_t rules = 0;
  for (const auto& rule : groups.at(0).at("rules")) {
    CAPTURE(rule.at("name").get<std::string>(), rule.value("lastError", ""));
    CHECK(rule.at("health") == "ok");
    ++rules;
    for (const auto& selector : selectors_in(rule.at("query"))) {
      CAPTURE(selector);
      if (!needs_gpu(selector) && !needs_failure(selector))
        CHECK_FALSE(found(prometheus, selector).empty());
    }
  }
  CHECK(rules > 8);
}

} // namespace

bool needs_text(const std::string& expression) {
  return has(expression, "troupe_tokens_total");
}

/// Whether a series exists only for asynchronous workers.
bool needs_async(const std::string& selector) {
  return has(selector, "troupe_staleness") || has(selector, "troupe_work_item");
}

TEST_CASE("every expression of dashboards and alerts returns data for a job of two daemons",
          "[long]") {
  need_prometheus();
  const Experiment experiment(Settings{
      "metrics.listen=127.0.0.1:0", "metrics.linger=10min", "train.epochs=100000",
      "train.gradient_norm_every=1", "precision.mode=amp_fp16", "data.dataset=image_folder",
      "model.num_classes=2", "data.image_size=16", "parallel.local_sgd.steps=2"});
  write_photos(experiment / "photos");
  Daemons daemons{
      experiment, "nodes",
      for_nodes(2, "local_sgd") +
          Settings{"cluster.timeouts.quorum=35s", "data.root=" + (experiment / "photos").string()}};
  auto& leader = daemons.lead();
  daemons.join();
  const PrometheusServer prometheus(
      TROUPE_PROMETHEUS,
      PrometheusServer::discovery("127.0.0.1:" + std::to_string(metrics_port(leader))),
      quick_rules());
  REQUIRE(becomes_true([&] { return prometheus.ask("count(troupe_rank_steps_total > 5)") == 2; }));
  check_amounts(prometheus);
  check_panels(prometheus, [](const std::string& expression) {
    return !needs_gpu(expression) && !needs_failure(expression) && !needs_async(expression) &&
           !needs_text(expression);
  });
  check_variables(prometheus);
  check_rules(prometheus);
  leader.kill(); // without it the other node's job fails
  check_panels(prometheus, needs_failure);
}

TEST_CASE("panels of language models return data for a job that trains one") {
  need_prometheus();
  const auto experiment = on_text(
      "gpt2-mini", {"metrics.listen=127.0.0.1:0", "train.max_steps=null", "train.epochs=100000"});
  auto job = experiment.start("job");
  const PrometheusServer prometheus(
      TROUPE_PROMETHEUS,
      PrometheusServer::discovery("127.0.0.1:" + std::to_string(metrics_port(job))), quick_rules());
  REQUIRE(becomes_true([&] { return prometheus.ask("count(troupe_tokens_total > 0)") == 1; }));
  check_panels(prometheus, needs_text);
}

TEST_CASE("panels of asynchronous workers return data for an async job", "[long]") {
  need_prometheus();
  const Experiment experiment(Settings{"metrics.listen=127.0.0.1:0", "metrics.linger=10min",
                                       "train.epochs=100000", "devices.count=2",
                                       "parallel.strategy=async"});
  auto job = experiment.start("job");
  const PrometheusServer prometheus(
      TROUPE_PROMETHEUS,
      PrometheusServer::discovery("127.0.0.1:" + std::to_string(metrics_port(job))), quick_rules());
  REQUIRE(becomes_true([&] { return prometheus.ask("count(troupe_staleness_steps)") == 1; }));
  check_panels(prometheus, needs_async);
  CHECK_FALSE(found(prometheus, "troupe_work_item_seconds > 0").empty());
  // Its name before 0.2.
  CHECK_FALSE(found(prometheus, "troupe_lease_seconds == troupe_work_item_seconds").empty());
}
