#include "metrics/exposition.hpp"
#include "metrics/http/endpoint.hpp"
#include "metrics/registry/registry.hpp"
#include "tests/support/prometheus_server.hpp"
#include "tests/support/records.hpp"
#include "tests/support/shell_line.hpp"
#include "tests/support/source_tree.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <limits>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

/// Returns promtool's exit code and output for a text or for files.
std::string promtool(const std::string& arguments, const std::string& input = "") {
  const ScratchFolder folder;
  write_bytes(folder / "input", input);
  const auto command = shell_word(TROUPE_PROMTOOL) + " " + arguments + " <" +
                       shell_word((folder / "input").string());
  Program program({"/bin/sh", "-c", command}, (folder / "output").string());
  const int code = program.wait();
  return std::to_string(code) + " " + read_bytes(folder / "output");
}

void need(const std::string& program) {
  if (program.empty() || program.ends_with("-NOTFOUND"))
    SKIP("prometheus and promtool are not installed (tools/bootstrap does it)");
}

Registry& filled(Registry& registry) {
  registry.record(small_step(0));
  registry.record(small_epoch(0));
  registry.record(small_worker(0));
  registry.record(MailboxSample{.actor = "data loader", .size = 1, .messages = 4, .seconds = 0.5});
  registry.record(CheckpointRecord{.step = 10, .seconds = 0.3, .bytes = 4096});
  return registry;
}

} // namespace

TEST_CASE("promtool reports no problem in /metrics") {
  need(TROUPE_PROMTOOL);
  auto run = small_run();
  run.name = "a \"name\"\nwith \\ everything ü";
  Registry registry(run);
  auto endpoint = HttpEndpoint::start(
      "127.0.0.1:0", {.metrics = [&] { return filled(registry).text(); }, .readiness = {}});
  REQUIRE(endpoint);
  CHECK(promtool("check metrics", http((*endpoint)->port(), "/metrics").body) == "0 ");
  auto step = small_step(1);
  step.loss = std::numeric_limits<double>::quiet_NaN();
  registry.record(step);
  CHECK(promtool("check metrics", http((*endpoint)->port(), "/metrics").body) == "0 ");
}

TEST_CASE("promtool accepts the Prometheus configuration and the alert rules") {
  need(TROUPE_PROMTOOL);
  const auto dashboards = source_tree() / "dashboards";
  const auto file = [&](const char* name) { return shell_word((dashboards / name).string()); };
  CHECK(promtool("check config " + file("prometheus.yml")).starts_with("0 "));
  CHECK(promtool("check rules " + file("alerts.yml")).starts_with("0 "));
}

TEST_CASE("alerts fire exactly when they should") {
  need(TROUPE_PROMTOOL);
  const auto said = promtool(
      "test rules " + shell_word((source_tree() / "tests/metrics/alerts_test.yml").string()));
  CAPTURE(said);
  CHECK(said.starts_with("0 "));
}

TEST_CASE("a real Prometheus scrapes the endpoint and answers queries") {
  need(TROUPE_PROMETHEUS);
  Registry registry(small_run());
  auto endpoint = HttpEndpoint::start(
      "127.0.0.1:0", {.metrics = [&] { return filled(registry).text(); }, .readiness = {}});
  REQUIRE(endpoint);
  PrometheusServer prometheus(TROUPE_PROMETHEUS, PrometheusServer::target((*endpoint)->address()));
  const auto limit = std::chrono::seconds(60);
  const auto rate = prometheus.wait_for("rate(troupe_samples_total[5s]) > 0", limit);
  CAPTURE(prometheus.log());
  REQUIRE(rate);
  CHECK(prometheus.wait_for("up{job=\"troupe\"}", limit) == 1);
  CHECK(prometheus.wait_for("troupe_loss{set=\"train\"}", limit) == 2);
  CHECK(prometheus.wait_for("troupe_run_info{model=\"resnet20\"}", limit) == 1);
  CHECK(prometheus.wait_for("count(troupe_memory_bytes)", limit) == memory_kinds);
  const auto median =
      prometheus.wait_for("histogram_quantile(0.5, rate(troupe_step_seconds_bucket[5s]))", limit);
  REQUIRE(median);
  CHECK(*median == Catch::Approx(0.125).epsilon(0.2));
}

TEST_CASE("a real Prometheus finds endpoints by /sd, including later ones") {
  need(TROUPE_PROMETHEUS);
  Registry registry(small_run());
  ScrapeTargets targets;
  const EndpointSources sources{.metrics = [&] { return filled(registry).text(); },
                                .readiness = {},
                                .targets = [&] { return targets.json(); }};
  auto first = HttpEndpoint::start("127.0.0.1:0", sources);
  auto second = HttpEndpoint::start("127.0.0.1:0", sources);
  REQUIRE((first && second));
  const ScrapeTarget one{(*first)->address(), {{"node", "one"}}},
      other{(*second)->address(), {{"node", "other"}}};
  targets.set({one});
  PrometheusServer prometheus(TROUPE_PROMETHEUS, PrometheusServer::discovery(one.address));
  const auto limit = std::chrono::seconds(60);
  const auto up = prometheus.wait_for("up{node=\"one\"} > 0", limit);
  CAPTURE(prometheus.log());
  REQUIRE(up);
  CHECK(prometheus.wait_for("count(up)", limit) == 1);
  targets.set({one, other});
  CHECK(prometheus.wait_for("up{node=\"other\"} > 0", limit));
  CHECK(prometheus.wait_for("count(troupe_loss{set=\"train\"}) > 1", limit) == 2);
}
