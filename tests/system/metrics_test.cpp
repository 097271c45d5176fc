#include "daemons.hpp"
#include "experiment.hpp"

#include "../core/shell_line.hpp"
#include "../metrics/http_client.hpp"
#include "../metrics/prometheus_server.hpp"

#include "troupe/core/net/socket.hpp"

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
  return RunningProgram{{"/bin/sh", "-c",
                         shell_word(TROUPE_PROMTOOL) + " check metrics <" +
                             shell_word((folder / "metrics").string())}}
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
  CHECK(program.wait().code == 128 + SIGTERM);
}

TEST_CASE("a daemon that waits for nodes answers, and says that it is not ready") {
  const Experiment experiment(for_nodes(2, "ddp") + Settings{"metrics.listen=127.0.0.1:0"});
  auto node = experiment.start_node("node");
  const auto port = metrics_port(node);
  REQUIRE(node.prints("waiting for 1 more node"));
  CHECK(http(port, "/healthz").status == 200);
  CHECK(http(port, "/readyz").status == 503);
  CHECK(http(port, "/readyz").body == "not ready: waiting\n");
  CHECK(has(http(port, "/metrics").body, "troupe_phase{phase=\"waiting\"} 1\n"));
  const auto targets = nlohmann::json::parse(http(port, "/sd").body);
  REQUIRE(targets.size() == 1);
  CHECK(targets.at(0).at("targets").at(0) == "127.0.0.1:" + std::to_string(port));
}

TEST_CASE("a metrics port in use ends a daemon at once, not when all nodes are there") {
  const auto taken = net::listen_on({"127.0.0.1", 0});
  REQUIRE(taken);
  const auto address = "127.0.0.1:" + std::to_string(taken->port);
  const Experiment experiment(for_nodes(2, "ddp") + Settings{"metrics.listen=" + address});
  const auto ended = experiment.start_node("node").wait();
  CHECK(ended.code == 1);
  CHECK(has(ended.err, "metrics.listen: cannot listen on " + address));
  CHECK_FALSE(has(ended.out, "waiting for"));
}

TEST_CASE("a node that follows exports its phase and its workers, and nothing of the job's") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes",
                  for_nodes(2, "ddp") +
                      Settings{"train.epochs=100000", "metrics.listen=127.0.0.1:0"}};
  auto& leader = daemons.lead();
  auto& follower = daemons.join();
  const auto of_leader = metrics_port(leader), of_follower = metrics_port(follower);
  const auto told = [](std::uint16_t port) { return http(port, "/metrics").body; };
  REQUIRE(becomes_true([&] { return experiment.run("nodes").steps_done() > 5; }));
  CHECK(
      becomes_true([&] { return has(told(of_follower), "troupe_worker_busy_ratio{rank=\"1\"}"); }));
  CHECK(becomes_true([&] { return has(told(of_follower), "troupe_phase{phase=\"training\"} 1"); }));
  for (const char* name : {"troupe_samples_total", "troupe_steps_total", "troupe_epoch",
                           "troupe_step", "troupe_last_step", "troupe_learning_rate", "troupe_loss",
                           "troupe_overlap_ratio", "troupe_checkpoints_total"}) {
    CAPTURE(name);
    CHECK(has(told(of_leader), "\n# TYPE " + std::string{name} + " "));
    CHECK_FALSE(has(told(of_follower), "\n# TYPE " + std::string{name} + " "));
  }
  // Both have one host's name: each is called by its address.
  const auto targets = nlohmann::json::parse(http(of_leader, "/sd").body);
  REQUIRE(targets.size() == 2);
  CHECK(targets.at(0).at("labels").at("node") == daemons.address());
  CHECK(targets.at(1).at("labels").at("node") == daemon_address(follower));
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
