// Tests one job on four hosts: network namespaces with separate addresses.
#include "tests/support/certificates.hpp"
#include "tests/support/prometheus_server.hpp"
#include "tests/system/experiment.hpp"
#include "tests/system/namespaces.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <csignal>
#include <list>

#include <sys/wait.h>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

TEST_CASE("four hosts train one job over TLS, and Prometheus follows them by /sd", "[long]") {
  const std::string strategy = GENERATE("ddp", "zero3");
  CAPTURE(strategy);
  constexpr int hosts = 4;
  const Namespaces namespaces{hosts};
  if (!namespaces.made())
    SKIP("no network namespaces here: they need root, and iproute2");
  const Certificates certificates;
  const auto tls = certificates.of("node");
  const Experiment experiment(Settings{"parallel.strategy=" + strategy, "train.epochs=100000",
                                       "data.eval_batch_size=8", "cluster.nodes=4"} +
                              settings_of(tls));
  std::list<RunningProgram> nodes;
  for (int host = 1; host <= hosts; ++host) {
    Settings settings = {"cluster.listen=" + namespaces.at(host, 7401),
                         "metrics.listen=" + namespaces.at(host, 9401),
                         "run.output=" + (experiment / ("host" + std::to_string(host))).string()};
    if (host > 1)
      settings.push_back("--join=" + namespaces.at(1, 7401));
    nodes.emplace_back(namespaces.on(host, experiment.command("node", "job", settings)));
  }
  const RunFiles run{experiment / "host1/job"};
  REQUIRE(becomes_true([&] { return run.steps_done() > 10; }));

  if (const std::string prometheus = TROUPE_PROMETHEUS; !prometheus.empty()) {
    PrometheusServer server(prometheus, PrometheusServer::discovery(namespaces.at(3, 9401)));
    CHECK(server.wait_for("count(up == 1) == 4", 60s) == 4);
    CHECK(server.wait_for("count(count by (rank) (troupe_worker_busy_ratio > 0)) == 4", 60s) == 4);
    CHECK(server.wait_for("sum(rate(troupe_samples_total[5s])) > 0", 60s));
  }
  const auto status =
      RunningProgram{namespaces.on(2, {TROUPE_PROGRAM, "status", namespaces.at(4, 7401), "--json",
                                       "--tls-cert", *tls.certificate, "--tls-key", *tls.key,
                                       "--tls-ca", *tls.ca})}
          .wait();
  CAPTURE(status.out, status.err);
  REQUIRE(status.code == 0);
  const auto told = nlohmann::json::parse(status.out);
  CHECK(told.at("world_size") == 4);
  REQUIRE(told.at("nodes").size() == 4);
  CHECK(told.at("nodes").at(0).at("address") == namespaces.at(1, 7401));

  nodes.front().send(SIGTERM);
  for (auto& node : nodes) {
    const auto ended = node.wait();
    INFO(ended.out << ended.err);
    CHECK(ended.code == 0);
  }
  CHECK(run.summary().at("status") == "stopped");
  CHECK(run.newest_checkpoint().step == run.summary().at("steps"));
}
