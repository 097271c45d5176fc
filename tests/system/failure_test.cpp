// Tests what remains visible of a failed job, and for how long.
#include "tests/support/http_client.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_test_macros.hpp>

#include <csignal>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// A leader that waits long for Prometheus to see its end; here, the test scrapes it.
const Settings seen_to_its_end = {"metrics.listen=127.0.0.1:0", "metrics.linger=1h"};

nlohmann::json status_of(const std::string& address) {
  const auto said = RunningProgram{{TROUPE_PROGRAM, "status", address, "--json"}}.wait();
  CAPTURE(said.out, said.err);
  REQUIRE(said.code == 0);
  return nlohmann::json::parse(said.out);
}

} // namespace

TEST_CASE("status names a dead node, and the job can still be stopped") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp") + Settings{"train.epochs=100000"}};
  auto& leader = daemons.lead({"metrics.listen=127.0.0.1:0"});
  auto& second = daemons.join();
  const auto dying = daemon_address(second);
  const auto port = metrics_port(leader);
  const auto run = experiment.run("nodes");
  REQUIRE(becomes_true([&] { return run.steps_done() > 5; }));
  second.kill();
  REQUIRE(becomes_true([&] { return http(port, "/readyz").body == "not ready: waiting\n"; }));
  CHECK(leader.prints("node " + dying + " (rank 1) was lost: its connection was closed"));
  CHECK(status_of(daemons.address()).at("phase") ==
        "waiting for 1 more node (1 of 2: " + daemons.address() + ")");
  CHECK(stop(leader).code == 0);
  CHECK(run.summary().at("status") == "stopped");
  CHECK(run.newest_checkpoint().step == run.steps_done()); // the last state was saved
}

TEST_CASE("the loss that ended a job can be scraped before the daemons exit") {
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp") + Settings{"train.optimizer.lr=1e30"}};
  auto& leader = daemons.lead(seen_to_its_end);
  const auto port = metrics_port(leader);
  scrape(port);
  CHECK(daemons.join().wait().code == 1);
  REQUIRE(becomes_true([&] { return http(port, "/readyz").body == "not ready: failed\n"; }));
  CHECK(leader.prints("waiting for Prometheus to scrape the final metrics, for at most 1h"));
  CHECK(has(status_of(daemons.address()).at("error").get<std::string>(), "numeric: the loss is"));
  const auto seen = scrape(port).body;
  CHECK(has(seen, "troupe_phase{phase=\"failed\"} 1\n"));
  CHECK(has(seen, "troupe_last_error{kind=\"numeric\"} 1\n"));
  CHECK((has(seen, "troupe_loss{set=\"train\"} NaN\n") ||
         has(seen, "troupe_loss{set=\"train\"} +Inf\n")));
  CHECK(leader.wait().code == 1);
}

TEST_CASE("a signal ends the wait for Prometheus", "[long]") {
  const Experiment experiment(seen_to_its_end);
  SECTION("a stopped run still waits, and a second signal ends it") {
    auto program = experiment.start("small", {"train.epochs=200"});
    scrape(metrics_port(program));
    REQUIRE(becomes_true([&] { return experiment.run("small").steps_done() > 5; }));
    program.send(SIGTERM);
    REQUIRE(program.prints("waiting for Prometheus"));
    std::this_thread::sleep_for(std::chrono::milliseconds{1100}); // signals within 1 s count as one
    program.send(SIGTERM);
    CHECK(program.wait().code == 1);
    CHECK(experiment.run("small").summary().at("status") == "stopped");
  }
  SECTION("a run that completed exits at the first signal") {
    auto program = experiment.start("small");
    scrape(metrics_port(program));
    REQUIRE(program.prints("waiting for Prometheus"));
    program.send(SIGTERM);
    CHECK(program.wait().code == 0);
    CHECK(experiment.run("small").summary().at("status") == "completed");
  }
}
