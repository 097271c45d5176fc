// Every alert of dashboards/alerts.yml that tells of a job in trouble, on a real job, by a real
// Prometheus. How long each takes is shown by promtool (tests/metrics/alerts_test.yml).
#include "../metrics/prometheus_server.hpp"
#include "daemons.hpp"

#include <catch2/catch_test_macros.hpp>

#include <csignal>
#include <regex>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// The rules, with less patience.
std::string quick_rules() {
  auto rules = read_bytes(source_tree() / "dashboards/alerts.yml");
  rules = std::regex_replace(rules, std::regex{"for: [0-9]+m"}, "for: 1s");
  return std::regex_replace(rules, std::regex{"\\[2m\\]"}, "[5s]");
}

/// Looks at an endpoint whose alerts are checked so often that a test need not wait.
class Watch {
public:
  explicit Watch(std::uint16_t port)
      : server_{TROUPE_PROMETHEUS, PrometheusServer::target("127.0.0.1:" + std::to_string(port)),
                quick_rules()} {}

  bool sees(const std::string& query) {
    const bool found = server_.wait_for(query, patience).has_value();
    UNSCOPED_INFO(server_.log());
    return found;
  }
  bool fires(const std::string& alert, const std::string& labels) {
    const bool fired = server_.fires(alert, labels, patience);
    UNSCOPED_INFO(server_.log());
    return fired;
  }
  bool finds_now(const std::string& query) { return server_.ask(query).has_value(); }

private:
  PrometheusServer server_;
};

void need_prometheus() {
  if (const std::string program = TROUPE_PROMETHEUS;
      program.empty() || program.ends_with("-NOTFOUND"))
    SKIP("prometheus is not installed (tools/bootstrap does it)");
}

const Settings watched = {"metrics.listen=127.0.0.1:0", "metrics.linger=10min"};
const Settings watched_without_end = watched + Settings{"train.epochs=100000"};

} // namespace

TEST_CASE("alert: a job that nodes do not come to makes no steps") {
  need_prometheus();
  const Experiment experiment(watched);
  auto leader = experiment.start_node("nodes", for_nodes(2, "ddp"));
  Watch watch(metrics_port(leader));
  CHECK(watch.fires("TroupeMakesNoSteps", "phase=\"waiting\""));
}

TEST_CASE("alert: a loss that is not a number ends the job, and Prometheus sees both") {
  need_prometheus();
  const Experiment experiment(watched);
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp") + Settings{"train.optimizer.lr=1e30"}};
  auto& leader = daemons.lead();
  Watch watch(metrics_port(leader));
  REQUIRE(watch.sees("troupe_phase{phase=\"waiting\"} == 1"));
  daemons.join();
  CHECK(leader.wait().code == 1); // once it was seen
  CHECK(watch.fires("TroupeLossIsNotFinite", "set=\"train\""));
  CHECK(watch.fires("TroupeJobFailed", "kind=\"numeric\""));
  CHECK(watch.fires("TroupeMakesNoSteps", "phase=\"failed\""));
  CHECK(watch.fires("TroupeTargetDown", "phase=\"failed\""));
}

TEST_CASE("alert: a node that is killed is down, its job has failed and makes no steps") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp")};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  Watch of_leader(metrics_port(leader)), of_second(metrics_port(second));
  REQUIRE(of_leader.sees("troupe_steps_total > 5"));
  REQUIRE(of_second.sees("troupe_phase{phase=\"training\"} == 1"));
  REQUIRE(of_leader.sees("absent(ALERTS)")); // those of the time when it waited end, too
  second.kill();
  CHECK(of_second.fires("TroupeTargetDown", "phase=~\"training|evaluating|saving\""));
  CHECK(of_leader.fires("TroupeJobFailed", "kind=\"network\""));
  CHECK(of_leader.fires("TroupeMakesNoSteps", "phase=\"failed\""));
  CHECK(leader.wait().code == 1);
}

TEST_CASE("alert: a run in the foreground that is killed is down and makes no steps") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  auto program = experiment.start("small");
  Watch watch(metrics_port(program));
  REQUIRE(watch.sees("troupe_steps_total > 5"));
  program.kill();
  CHECK(watch.fires("TroupeTargetDown", "job=\"troupe\""));
  CHECK(watch.fires("TroupeMakesNoSteps", "job=\"troupe\""));
}

TEST_CASE("no alert: a run that has completed, or was stopped, is not missed") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  auto program = experiment.start("small");
  Watch watch(metrics_port(program));
  REQUIRE(watch.sees("troupe_steps_total > 5"));
  program.send(SIGTERM);
  CHECK(program.wait().code == 128 + SIGTERM);
  REQUIRE(watch.sees("up == 0"));
  CHECK(watch.sees("last_over_time(troupe_phase{phase=\"stopped\"}[1h]) == 1"));
  CHECK_FALSE(watch.finds_now("ALERTS{alertname!=\"TroupeWaitsForData\"}"));
}

TEST_CASE("alert: a checkpoint that cannot be written") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  const auto run = experiment.run("small");
  std::filesystem::create_directories(run.folder());
  write_bytes(run / "checkpoints", "where a folder should be");
  auto program = experiment.start("small");
  Watch watch(metrics_port(program));
  CHECK(watch.fires("TroupeCheckpointFails", "job=\"troupe\""));
}

TEST_CASE("alert: workers that wait for their data") {
  need_prometheus();
  // A model that has nearly nothing to compute, and large images.
  const Experiment experiment(
      watched_without_end +
      Settings{"model.name=linear", "data.image_size=128", "data.batch_size=64", "data.prefetch=1",
               "data.loader_threads=1", "train.evaluate_every=0", "checkpoint.every=never"});
  auto program = experiment.start("small");
  Watch watch(metrics_port(program));
  CHECK(watch.fires("TroupeWaitsForData", "job=\"troupe\""));
}
