// Tests every alert of dashboards/alerts.yml about a job in trouble, on a real job, with a real
// Prometheus. promtool tests how long each alert takes to fire (tests/metrics/alerts_test.yml).
#include "tests/support/prometheus_server.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/quick_rules.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include <sys/resource.h>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// Scrapes an endpoint with alert rules shortened for a test.
class Watch {
public:
  explicit Watch(std::uint16_t port, const std::string& rates = "5m")
      : server_{TROUPE_PROMETHEUS, PrometheusServer::target("127.0.0.1:" + std::to_string(port)),
                quick_rules(rates)} {}
  /// Watches all nodes of the job that `leader` leads, with rates over ten seconds.
  static Watch of_job(RunningProgram& leader) {
    return Watch{PrometheusServer::discovery("127.0.0.1:" + std::to_string(metrics_port(leader)))};
  }

  bool sees(const std::string& query) {
    const bool found = server_.wait_for(query, time_limit).has_value();
    UNSCOPED_INFO(server_.log());
    return found;
  }
  bool fires(const std::string& alert, const std::string& labels) {
    const bool fired = server_.fires(alert, labels, time_limit);
    UNSCOPED_INFO(server_.log());
    return fired;
  }
  bool clears(const std::string& alert) {
    const bool cleared = server_.clears(alert, time_limit);
    UNSCOPED_INFO(server_.log());
    return cleared;
  }
  bool finds_now(const std::string& query) { return server_.ask(query).has_value(); }
  std::optional<double> ask(const std::string& query) { return server_.ask(query); }

private:
  explicit Watch(const std::string& targets)
      : server_{TROUPE_PROMETHEUS, targets, quick_rules("10s")} {}

  PrometheusServer server_;
};

/// Stops a process most of the time, as if its machine were slow.
class Brake {
public:
  explicit Brake(pid_t process)
      : thread_{[this, process] {
          while (!off_) {
            ::kill(process, SIGSTOP);
            std::this_thread::sleep_for(75ms);
            ::kill(process, SIGCONT);
            std::this_thread::sleep_for(25ms);
          }
        }} {}
  Brake(const Brake&) = delete;
  Brake& operator=(const Brake&) = delete;
  ~Brake() {
    off_ = true;
    thread_.join();
  }

private:
  std::atomic<bool> off_ = false;
  std::thread thread_;
};

/// Limits the address space of a running process: `ulimit -v` from outside.
void limit_address_space(pid_t process, double bytes) {
  rlimit limit{};
  REQUIRE(::prlimit(process, RLIMIT_AS, nullptr, &limit) == 0);
  limit.rlim_cur = static_cast<rlim_t>(bytes);
  REQUIRE(::prlimit(process, RLIMIT_AS, &limit, nullptr) == 0);
}

const Settings watched = {"metrics.listen=127.0.0.1:0", "metrics.linger=10min"};
const Settings watched_without_end = watched + Settings{"train.epochs=100000"};

} // namespace

TEST_CASE("alert: a job that lacks nodes makes no steps", "[long]") {
  need_prometheus();
  const Experiment experiment(watched);
  auto leader = experiment.start_node("nodes", for_nodes(2, "ddp"));
  Watch watch(metrics_port(leader));
  CHECK(watch.fires("TroupeMakesNoSteps", "phase=\"waiting\""));
}

TEST_CASE("alert: a NaN loss ends the job, and Prometheus sees both", "[long]") {
  need_prometheus();
  const Experiment experiment(watched);
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp") + Settings{"train.optimizer.lr=1e30"}};
  auto& leader = daemons.lead();
  Watch watch(metrics_port(leader));
  REQUIRE(watch.sees("troupe_phase{phase=\"waiting\"} == 1"));
  daemons.join();
  CHECK(leader.wait().code == 1); // after Prometheus has seen the failure
  CHECK(watch.fires("TroupeLossIsNotFinite", "set=\"train\""));
  CHECK(watch.fires("TroupeJobFailed", "kind=\"numeric\""));
  CHECK(watch.fires("TroupeMakesNoSteps", "phase=\"failed\""));
  CHECK(watch.fires("TroupeTargetDown", "phase=\"failed\""));
}

TEST_CASE("alert: a node that is killed is down, and its job makes no steps without it", "[long]") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp")};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  Watch of_leader(metrics_port(leader)), of_second(metrics_port(second));
  REQUIRE(of_leader.sees("troupe_steps_total > 5"));
  REQUIRE(of_second.sees("troupe_phase{phase=\"training\"} == 1"));
  REQUIRE(of_leader.sees(
      "absent(ALERTS{alertname!=\"TroupeMemoryNearLimit\"})")); // alerts of the time when it waited
                                                                // must clear, too
  second.kill();
  CHECK(of_second.fires("TroupeTargetDown", "phase=~\"training|evaluating|saving\""));
  CHECK(of_leader.fires("TroupeMakesNoSteps", "phase=\"waiting\""));
}

TEST_CASE("alert: nodes are lost repeatedly", "[long]") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  Daemons daemons{experiment, "nodes",
                  for_nodes(2, "ddp") + Settings{"cluster.nodes.min=1", "data.slices=2"}};
  auto& leader = daemons.lead();
  Watch watch(metrics_port(leader));
  REQUIRE(watch.sees("troupe_recoveries_total == 0"));
  const auto run = experiment.run("nodes");
  for (std::size_t losses = 1; losses <= 4; ++losses) {
    auto& other = daemons.join();
    REQUIRE(becomes_true([&] { return run.recoveries().size() == 2 * losses - 1; }));
    other.kill();
    REQUIRE(becomes_true([&] { return run.recoveries().size() == 2 * losses; }));
  }
  CHECK(watch.fires("TroupeRecoversOften", "job=\"troupe\""));
}

TEST_CASE("alert: a run in the foreground that is killed is down and makes no steps", "[long]") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  auto program = experiment.start("small");
  Watch watch(metrics_port(program));
  REQUIRE(watch.sees("troupe_steps_total > 5"));
  program.kill();
  CHECK(watch.fires("TroupeTargetDown", "job=\"troupe\""));
  CHECK(watch.fires("TroupeMakesNoSteps", "job=\"troupe\""));
}

TEST_CASE("no alert: a run that completed or was stopped is not reported as down") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  auto program = experiment.start("small");
  Watch watch(metrics_port(program));
  REQUIRE(watch.sees("troupe_steps_total > 5"));
  program.send(SIGTERM);
  CHECK(program.wait().code == 128 + SIGTERM);
  REQUIRE(watch.sees("up == 0"));
  CHECK(watch.sees("last_over_time(troupe_phase{phase=\"stopped\"}[1h]) == 1"));
  CHECK_FALSE(watch.finds_now("ALERTS{alertname!~\"TroupeWaitsForData|TroupeMemoryNearLimit\"}"));
}

TEST_CASE("alert: checkpoints cannot be written, until they can", "[long]") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  const auto run = experiment.run("small");
  std::filesystem::create_directories(run.folder());
  write_bytes(run / "checkpoints", "where a folder should be");
  auto program = experiment.start("small");
  Watch watch(metrics_port(program));
  CHECK(watch.fires("TroupeCheckpointFails", "job=\"troupe\""));
  CHECK(watch.fires("TroupeCheckpointTooOld", "job=\"troupe\""));
  std::filesystem::remove(run / "checkpoints");
  CHECK(watch.sees("troupe_checkpoints_total > 0"));
  CHECK(watch.clears("TroupeCheckpointTooOld"));
}

TEST_CASE("alert: workers wait for their data", "[long]") {
  need_prometheus();
  // A model with almost nothing to compute, and large images.
  const Experiment experiment(
      watched_without_end +
      Settings{"model.name=linear", "data.image_size=128", "data.batch_size=64", "data.prefetch=1",
               "data.loader_threads=1", "train.evaluate_every=0", "checkpoint.every=never"});
  auto program = experiment.start("small");
  Watch watch(metrics_port(program));
  CHECK(watch.fires("TroupeWaitsForData", "job=\"troupe\""));
}

TEST_CASE("alert: a rank is slower than the others, as long as it is", "[long]") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  Daemons daemons{experiment, "nodes",
                  for_nodes(2, "ddp") +
                      Settings{"train.evaluate_every=0", "checkpoint.every=never"}};
  auto& leader = daemons.lead();
  auto& second = daemons.join();
  auto watch = Watch::of_job(leader);
  REQUIRE(watch.sees("count(rate(troupe_rank_steps_total[10s]) > 0) == 2"));
  {
    const Brake brake{second.id()};
    CHECK(watch.fires("TroupeStraggler", "rank=\"1\",node=\"" + daemon_address(second) + "\""));
  }
  CHECK(watch.clears("TroupeStraggler"));
}

TEST_CASE("alert: a process is close to its memory limit, until the limit is raised", "[long]") {
  need_prometheus();
  const Experiment experiment(watched_without_end);
  auto program = experiment.start("small");
  Watch watch(metrics_port(program));
  REQUIRE(watch.sees("troupe_steps_total > 5"));
  const auto used = watch.ask("process_virtual_memory_bytes").value();
  limit_address_space(program.id(), used / 0.93);
  CHECK(watch.fires("TroupeMemoryNearLimit", "limit=\"address_space\""));
  limit_address_space(program.id(), 4 * used);
  CHECK(watch.sees("troupe_host_memory_bytes{limit=\"address_space\"} / "
                   "troupe_host_memory_limit_bytes < 0.5"));
  CHECK(watch.sees("absent(ALERTS{alertname=\"TroupeMemoryNearLimit\",limit=\"address_space\","
                   "alertstate=\"firing\"})"));
  CHECK(program.running());
}
