#include "experiment.hpp"

#include "../metrics/http_client.hpp"
#include "../metrics/prometheus_server.hpp"

#include <catch2/catch_test_macros.hpp>

#include <csignal>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

void need(const std::string& program) {
  if (program.empty() || program.ends_with("-NOTFOUND"))
    SKIP("prometheus and promtool are not installed (tools/bootstrap does it)");
}

/// Trains until it is told to stop.
const Settings scraped_without_end = {"train.epochs=100000", "checkpoint.every=never",
                                      "metrics.listen=127.0.0.1:0"};

Ended promtool_check(const ScratchFolder& folder, const std::string& metrics) {
  write_bytes(folder / "metrics", metrics);
  return RunningProgram{
      {"/bin/sh", "-c", TROUPE_PROMTOOL " check metrics <" + (folder / "metrics").string()}}
      .wait();
}

} // namespace

TEST_CASE("metrics, health and readiness are there while it trains") {
  const Experiment experiment(scraped_without_end);
  auto program = experiment.start("small", {"parallel.strategy=ddp", "devices.count=2"});
  const auto port = metrics_port(program);
  REQUIRE(becomes_true([&] { return experiment.run("small").epochs().size() >= 2; }));
  const auto metrics = http(port, "/metrics");
  CHECK(metrics.status == 200);
  for (const char* name :
       {"troupe_loss", "troupe_accuracy_ratio", "troupe_learning_rate", "troupe_samples_total",
        "troupe_step_seconds_bucket", "troupe_data_wait_seconds_total",
        "troupe_collective_bytes_total", "troupe_overlap_ratio", "troupe_memory_bytes",
        "troupe_mailbox_seconds_total"}) {
    CAPTURE(name);
    CHECK(has(metrics.body, name));
  }
  CHECK(http(port, "/healthz").status == 200);
  CHECK(http(port, "/readyz").status == 200);
  CHECK(http(port, "/nothing").status == 404);
  program.send(SIGTERM);
  CHECK(program.wait().code == 0);
}

TEST_CASE("promtool finds nothing to complain about in the metrics of a run") {
  need(TROUPE_PROMTOOL);
  const Experiment experiment(scraped_without_end);
  const ScratchFolder folder;
  auto program = experiment.start("small", {"checkpoint.every=10 steps"});
  const auto port = metrics_port(program);
  REQUIRE(becomes_true([&] { return experiment.run("small").epochs().size() >= 2; }));
  const auto said = promtool_check(folder, http(port, "/metrics").body);
  CAPTURE(said.out, said.err);
  CHECK(said.code == 0);
  CHECK(said.out + said.err == "");
}

TEST_CASE("a real Prometheus finds a run by its /sd and scrapes it") {
  need(TROUPE_PROMETHEUS);
  const Experiment experiment(scraped_without_end);
  auto program = experiment.start("small");
  PrometheusServer prometheus(
      TROUPE_PROMETHEUS,
      PrometheusServer::discovery("127.0.0.1:" + std::to_string(metrics_port(program))));
  const auto rate = prometheus.wait_for("rate(troupe_samples_total[5s]) > 0", 60s);
  CAPTURE(prometheus.log());
  REQUIRE(rate);
  CHECK(prometheus.wait_for("up{job=\"troupe\"}", 60s) == 1);
  CHECK(prometheus.wait_for("troupe_loss{set=\"train\"} > 0", 60s));
  CHECK(prometheus.wait_for("troupe_run_info{model=\"resnet20\"}", 60s) == 1);
}
