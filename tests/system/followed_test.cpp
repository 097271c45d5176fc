// Tests what Prometheus sees of a job that begins, waits after a daemon is killed, and continues
// with its replacement: its nodes by /sd, and the alerts that fire and clear.
#include "tests/support/prometheus_server.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/quick_rules.hpp"
#include "tests/system/services.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("Prometheus follows the nodes of a job that starts, loses a node and continues") {
  need_prometheus();
  const Experiment experiment;
  const RestartRules rules;
  const auto settings = for_nodes(2, "ddp") + Settings{"train.epochs=100000"};
  const auto leader = free_address(), follower = free_address();
  const auto of_leader = free_address(), of_follower = free_address();
  const auto command = [&](const std::string& address, const std::string& metrics,
                           const Settings& more) {
    return experiment.command(
        "node", "job",
        settings + Settings{"cluster.listen=" + address, "metrics.listen=" + metrics} + more);
  };
  Service first{rules, command(leader, of_leader, {})};
  Service second{rules,
                 command(follower, of_follower,
                         {"--join=" + leader, "run.output=" + (experiment / "second").string()})};
  PrometheusServer prometheus{TROUPE_PROMETHEUS, PrometheusServer::discovery(of_leader),
                              quick_rules("10s")};
  const auto sees = [&](const std::string& query) {
    return prometheus.wait_for(query, time_limit).has_value();
  };
  const std::string followers = "node=\"" + follower + "\"", leaders = "node=\"" + leader + "\"";
  const auto trains = [&] {
    return sees("up{" + leaders + "} == 1") && sees("up{" + followers + "} == 1") &&
           sees("increase(troupe_steps_total{" + leaders + "}[5s]) > 0") &&
           sees("troupe_phase{phase=\"training\"," + followers + "} == 1");
  };
  const auto is_quiet = [&] {
    return prometheus.clears("TroupeTargetDown", time_limit) &&
           prometheus.clears("TroupeMakesNoSteps", time_limit) &&
           prometheus.clears("TroupeJobFailed", time_limit);
  };

  // The job begins.
  CHECK(trains());
  CHECK(is_quiet());
  REQUIRE(becomes_true([&] { return experiment.run("job").has_checkpoint(); }));
  CHECK(sees("time() - troupe_heartbeat_time_seconds{peer=\"" + follower + "\"} < 60"));
  const auto begun = prometheus.ask("process_start_time_seconds{" + leaders + "}");
  REQUIRE(begun);

  // One daemon is killed and not yet restarted.
  second.kill();
  CHECK(sees("up{" + followers + "} == 0"));
  CHECK(prometheus.has_fired("TroupeTargetDown", followers, time_limit));
  CHECK(prometheus.has_fired("TroupeMakesNoSteps", leaders, time_limit));
  CHECK(sees("troupe_phase{phase=\"waiting\"," + leaders + "} == 1"));

  // The service manager restarts the daemons.
  const auto before = experiment.run("job").steps_done();
  REQUIRE(becomes_true([&] {
    first.tend();
    second.tend();
    return experiment.run("job").steps_done() > before + 5;
  }));
  CHECK(trains());
  CHECK(is_quiet());
  CHECK(prometheus.ask("process_start_time_seconds{" + leaders + "}") == begun);
  CHECK(first.codes().empty());
  CHECK(second.codes() == std::vector{128 + SIGKILL});
  INFO(prometheus.log());
}
