// Tests daemons that wait for each other, for a frozen one, or after the end of their job.
#include "tests/support/certificates.hpp"
#include "tests/support/http_client.hpp"
#include "tests/system/crew.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <csignal>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

Ended ask(const std::string& verb, const std::string& address,
          const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {TROUPE_PROGRAM, verb, address};
  words.insert(words.end(), more.begin(), more.end());
  return RunningProgram{words}.wait();
}

/// Returns for how many seconds a daemon has waited; below 0 when it does not wait, or does not
/// answer.
double waited(const std::string& address, const std::vector<std::string>& more) {
  const auto status =
      nlohmann::json::parse(ask("status", address, more + Settings{"--json"}).out, nullptr, false);
  return status.is_object() && status.at("wait").is_object()
             ? status.at("wait").at("seconds").get<double>()
             : -1;
}

} // namespace

TEST_CASE("two daemons whose job failed begin it again while one of them lingers", "[long]") {
  const Experiment experiment;
  Crew crew{experiment, "nodes", 2,
            for_nodes(2, "ddp") + Settings{"metrics.listen=127.0.0.1:0", "metrics.linger=10min"},
            false};
  const Settings failing = {"train.optimizer.lr=1e30", "checkpoint.every=never"};
  crew.start(1, failing);
  const auto scraped = metrics_port(crew[1]);
  CHECK(scrape(scraped).status == 200); // from now on the daemon waits for the next scrape
  crew.start(0, failing);
  CHECK(crew[0].wait().code == 1);
  REQUIRE(crew[1].prints("waiting for Prometheus to scrape the final metrics, for at most 10min"));
  const auto lingers = ask("status", crew.address(1)).out;
  CAPTURE(lingers);
  CHECK(lingers.starts_with("nodes: ended, waiting for Prometheus to scrape the final metrics ("));

  crew.start(0);
  REQUIRE(crew[0].prints("waiting for 1 more node (1 of 2: " + crew.address(0) + ")"));
  CHECK(crew[1].running());
  CHECK(scrape(scraped).status == 200);
  CHECK(crew[1].wait().code == 1);
  crew.start(1);
  REQUIRE(crew[0].prints("nodes: completed"));
  CHECK(crew.end(0).code == 0);
  CHECK(crew.end(1).code == 0);
}

TEST_CASE("a node that finds its leader frozen waits and joins it when it continues", "[long]") {
  const bool secured = GENERATE(false, true);
  CAPTURE(secured);
  const Certificates certificates;
  const auto tls = certificates.of("node");
  const Experiment experiment;
  Daemons daemons{experiment, "nodes",
                  for_nodes(2, "ddp") + Settings{"cluster.timeouts.detection=500ms"} +
                      (secured ? settings_of(tls) : Settings{})};
  auto& leader = daemons.lead();
  REQUIRE(leader.prints("waiting for 1 more node"));
  leader.send(SIGSTOP);
  auto& second = daemons.join();
  REQUIRE(second.prints("; trying again"));
  const auto address = daemon_address(second);
  const auto options = secured ? options_of(tls) : Settings{};
  REQUIRE(becomes_true([&] { return waited(address, options) > 4 || !second.running(); }));
  CHECK(second.running());
  leader.send(SIGCONT);
  CHECK(second.wait().code == 0);
  CHECK(terminate(leader).code == 0);
}
