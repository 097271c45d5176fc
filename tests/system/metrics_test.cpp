#include "core/net/socket.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/prometheus_server.hpp"
#include "tests/support/shell_line.hpp"
#include "tests/system/crew.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

#include <csignal>
#include <set>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

void need(const std::string& program) {
  if (program.empty() || program.ends_with("-NOTFOUND"))
    SKIP("prometheus and promtool are not installed (tools/bootstrap does it)");
}

/// Trains until it is stopped.
const Settings scraped_without_end = {"train.epochs=100000", "checkpoint.every=never",
                                      "metrics.listen=127.0.0.1:0"};

Ended promtool_check(const ScratchFolder& folder, const std::string& metrics) {
  write_bytes(folder / "metrics", metrics);
  return RunningProgram{{"/bin/sh", "-c",
                         shell_word(TROUPE_PROMTOOL) + " check metrics <" +
                             shell_word((folder / "metrics").string())}}
      .wait();
}

/// Nodes with metrics addresses that are known from the start, and a Prometheus that scrapes them.
class ScrapedCrew {
public:
  ScrapedCrew(const Experiment& experiment, int nodes, const Settings& settings)
      : crew_{experiment, "nodes", nodes, settings, true} {
    std::vector<net::Listener> taken; // held together, so that the ports differ
    for (int i = 0; i < nodes; ++i) {
      taken.push_back(*net::listen_on({"127.0.0.1", 0}));
      ports_.push_back(taken.back().port);
    }
    std::string targets;
    for (const auto port : ports_)
      targets += (targets.empty() ? "'" : ", '") + metrics_address(port) + "'";
    taken.clear();
    prometheus_ = std::make_unique<PrometheusServer>(
        TROUPE_PROMETHEUS, "static_configs: [{targets: [" + targets + "]}]");
  }

  Crew& crew() { return crew_; }
  void start(int node) { crew_.start(node, {"metrics.listen=" + metrics_address(port(node))}); }
  std::uint16_t port(int node) const { return ports_.at(static_cast<std::size_t>(node)); }
  nlohmann::json page(int node) const {
    return nlohmann::json::parse(http(port(node), "/run.json").body);
  }

  /// Returns "INSTANCE RANK" for each rank of the participating nodes; empty unless `count` nodes
  /// take part.
  std::set<std::string> expected(int of, std::size_t count) const {
    const auto told = crew_.status(of);
    std::set<std::string> ranks;
    if (!told.is_object() || told.at("nodes").size() != count)
      return ranks;
    for (const auto& node : told.at("nodes"))
      for (int i = 0; i < crew_.size(); ++i)
        if (crew_.address(i) == node.at("address").get<std::string>())
          for (const auto& rank : node.at("ranks"))
            ranks.insert(metrics_address(port(i)) + " " + std::to_string(rank.get<int>()));
    return ranks;
  }
  /// Returns the same for all scraped series with a rank.
  std::set<std::string> scraped() const try {
    std::set<std::string> ranks;
    for (const auto& each : prometheus_->series("group by (instance, rank) ({rank!=\"\"})"))
      ranks.insert(each.at("metric").at("instance").get<std::string>() + " " +
                   each.at("metric").at("rank").get<std::string>());
    return ranks;
  } catch (const std::exception&) { // Prometheus is not up yet
    return {};
  }
  std::optional<double> ask(const std::string& query) const { return prometheus_->ask(query); }
  std::string log() const { return prometheus_->log(); }

private:
  static std::string metrics_address(std::uint16_t port) {
    return "127.0.0.1:" + std::to_string(port);
  }

  Crew crew_;
  std::vector<std::uint16_t> ports_;
  std::unique_ptr<PrometheusServer> prometheus_;
};

/// Waits until the generation of `count` nodes trains, as node `of` reports. Checks that exactly
/// its ranks are in the metrics that Prometheus reads and on the leader's page.
void check_ranks(const ScrapedCrew& scraped, const Crew& crew, int of, std::size_t count) {
  CAPTURE(count, scraped.log());
  std::set<std::string> expected;
  REQUIRE(becomes_true([&] { return !(expected = scraped.expected(of, count)).empty(); }));
  becomes_true([&] { return scraped.scraped() == expected; });
  CHECK(scraped.scraped() == expected);
  CHECK(becomes_true([&] {
    return scraped.ask("count(troupe_rank_steps_total)") == static_cast<double>(count) &&
           scraped.ask("count(troupe_heartbeat_time_seconds)") == static_cast<double>(count);
  }));
  nlohmann::json page;
  CHECK(becomes_true([&] {
    const int leader = crew.leader(of);
    if (leader < 0)
      return false;
    page = scraped.page(leader);
    return page.at("workers").size() == count && page.at("nodes").size() == count;
  }));
  for (const auto& worker : page.at("workers"))
    for (const auto& node : page.at("nodes"))
      if (node.at("ranks").at(0) == worker.at("rank"))
        CHECK(worker.at("node") == node.at("name"));
}

} // namespace

TEST_CASE("metrics, health and readiness are served during training") {
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

TEST_CASE("a daemon that waits for nodes is healthy but not ready") {
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

TEST_CASE("a metrics port in use ends a daemon at startup, not when all nodes have joined") {
  const auto taken = net::listen_on({"127.0.0.1", 0});
  REQUIRE(taken);
  const auto address = "127.0.0.1:" + std::to_string(taken->port);
  const Experiment experiment(for_nodes(2, "ddp") + Settings{"metrics.listen=" + address});
  const auto ended = experiment.start_node("node").wait();
  CHECK(ended.code == 1);
  CHECK(has(ended.err, "metrics.listen: cannot listen on " + address));
  CHECK_FALSE(has(ended.out, "waiting for"));
}

TEST_CASE("a following node exports its phase and workers, and no metrics of the job") {
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
  // Both have the same host name, so each is called by its address.
  const auto targets = nlohmann::json::parse(http(of_leader, "/sd").body);
  REQUIRE(targets.size() == 2);
  CHECK(targets.at(0).at("labels").at("node") == daemons.address());
  CHECK(targets.at(1).at("labels").at("node") == daemon_address(follower));
}

TEST_CASE("after each of three membership changes /metrics lists the generation's ranks",
          "[long]") {
  need(TROUPE_PROMETHEUS);
  const Experiment experiment;
  ScrapedCrew scraped{experiment, 3,
                      for_nodes(3, "ddp") +
                          Settings{"cluster.nodes.min=2", "data.slices=12", "train.epochs=100000"}};
  auto& crew = scraped.crew();
  for (int node = 0; node < crew.size(); ++node)
    scraped.start(node);
  check_ranks(scraped, crew, 0, 3);
  crew[0].kill(); // the leader
  REQUIRE(becomes_true([&] { return crew.leader(1) > 0; }));
  const int second = crew.leader(1);
  check_ranks(scraped, crew, second, 2);
  scraped.start(0);
  check_ranks(scraped, crew, 0, 3);
  crew[second].kill();
  REQUIRE(becomes_true([&] { return crew.leader(0) >= 0 && crew.leader(0) != second; }));
  check_ranks(scraped, crew, 0, 2);
  const auto follower = crew.leader(0) == 0 ? 3 - second : 0;
  CHECK(scraped.page(follower).at("leads") == false);
  CHECK(stop(crew[crew.leader(0)]).code == 0);
}

TEST_CASE("promtool reports no problem in the metrics of a run") {
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

TEST_CASE("a real Prometheus finds a run by /sd and scrapes it") {
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
