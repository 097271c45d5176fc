// What can still be seen of a job that has failed, and for how long.
#include "daemons.hpp"

#include "../metrics/http_client.hpp"

#include <catch2/catch_test_macros.hpp>

#include <csignal>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// A leader whose end Prometheus would like to see, however late; the test is that Prometheus.
const Settings seen_to_its_end = {"metrics.listen=127.0.0.1:0", "metrics.linger=1h"};

nlohmann::json status_of(const std::string& address) {
  const auto said = RunningProgram{{TROUPE_PROGRAM, "status", address, "--json"}}.wait();
  CAPTURE(said.out, said.err);
  REQUIRE(said.code == 0);
  return nlohmann::json::parse(said.out);
}

} // namespace

TEST_CASE("status shows a dead node as dead, and why the job has failed") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp") + Settings{"train.epochs=100000"}};
  auto& leader = daemons.lead(seen_to_its_end);
  auto& second = daemons.join();
  const auto dying = daemon_address(second);
  const auto port = metrics_port(leader);
  scrape(port);
  REQUIRE(becomes_true([&] { return experiment.run("nodes").steps_done() > 5; }));
  second.kill();
  REQUIRE(becomes_true([&] { return http(port, "/readyz").body == "not ready: failed\n"; }));
  const auto told = status_of(daemons.address());
  CHECK(told.at("phase") == "ended");
  CHECK(has(told.at("error").get<std::string>(), "node " + dying));
  CHECK(told.at("nodes").at(0).at("state") == "active");
  CHECK(told.at("nodes").at(1).at("address") == dying);
  CHECK(told.at("nodes").at(1).at("state") == "dead");
  CHECK(has(scrape(port).body, "troupe_last_error{kind=\"network\"} 1\n"));
  CHECK(leader.wait().code == 1);
}

TEST_CASE("the loss that ended a job can be scraped before the daemons go") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp") + Settings{"train.optimizer.lr=1e30"}};
  auto& leader = daemons.lead(seen_to_its_end);
  const auto port = metrics_port(leader);
  scrape(port);
  CHECK(daemons.join().wait().code == 1);
  REQUIRE(becomes_true([&] { return http(port, "/readyz").body == "not ready: failed\n"; }));
  CHECK(has(leader.out(), "waiting for Prometheus to see the end, 1h at most"));
  CHECK(has(status_of(daemons.address()).at("error").get<std::string>(), "numeric: the loss is"));
  const auto seen = scrape(port).body;
  CHECK(has(seen, "troupe_phase{phase=\"failed\"} 1\n"));
  CHECK(has(seen, "troupe_last_error{kind=\"numeric\"} 1\n"));
  CHECK((has(seen, "troupe_loss{set=\"train\"} NaN\n") ||
         has(seen, "troupe_loss{set=\"train\"} +Inf\n")));
  CHECK(leader.wait().code == 1);
}

TEST_CASE("who stops a run that waits for Prometheus need not wait for it") {
  const Experiment experiment(seen_to_its_end);
  auto program = experiment.start("small", {"train.epochs=200"});
  scrape(metrics_port(program));
  SECTION("a run that was stopped before is awaited; a second signal ends it") {
    REQUIRE(becomes_true([&] { return experiment.run("small").steps_done() > 5; }));
    program.send(SIGTERM);
    REQUIRE(program.prints("waiting for Prometheus"));
    program.send(SIGTERM);
    CHECK(program.wait().code == 1);
    CHECK(experiment.run("small").summary().at("status") == "stopped");
  }
  SECTION("a run that has ended by itself goes at the first") {
    REQUIRE(program.prints("waiting for Prometheus"));
    program.send(SIGTERM);
    CHECK(program.wait().code == 0);
    CHECK(experiment.run("small").summary().at("status") == "completed");
  }
}
