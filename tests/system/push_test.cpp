// Tests metrics.push with a real Pushgateway.
#include "core/net/socket.hpp"
#include "tests/support/http_client.hpp"
#include "tests/system/experiment.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// Returns the metrics that the gateway shows; empty before it is up.
std::string metrics_of(std::uint16_t port) try {
  return http(port, "/metrics").body;
} catch (const std::exception&) {
  return {};
}

} // namespace

TEST_CASE("the metrics of a short run are in the Pushgateway at its end") {
  const std::string program = TROUPE_PUSHGATEWAY;
  if (program.ends_with("NOTFOUND"))
    SKIP("prometheus-pushgateway is not installed (tools/bootstrap does it)");
  const auto port = net::listen_on({"127.0.0.1", 0})
                        .value()
                        .port; // released at once, for the gateway to listen on
  const auto address = "127.0.0.1:" + std::to_string(port);
  RunningProgram gateway{{program, "--web.listen-address=" + address}};
  REQUIRE(becomes_true([&] { return !metrics_of(port).empty() || !gateway.running(); }));
  const Experiment experiment({"metrics.push=http://" + address});
  const auto ended = experiment.train("pushed run");
  CAPTURE(ended.err);
  CHECK(ended.code == 0);
  CHECK(ended.err.empty());
  const auto shown = metrics_of(port);
  CAPTURE(shown);
  CHECK(has(shown, "troupe_step{instance=\""));
  CHECK(has(shown, "\",job=\"troupe\",run=\"pushed run\"} 40\n"));
  CHECK(has(shown, "phase=\"completed\",run=\"pushed run\"} 1\n"));
  CHECK(has(shown, "push_failure_time_seconds"));
}

TEST_CASE("a missing Pushgateway causes a warning, and the run completes") {
  const auto port = net::listen_on({"127.0.0.1", 0}).value().port; // released at once
  const Experiment experiment({"metrics.push=http://127.0.0.1:" + std::to_string(port)});
  const auto ended = experiment.train("alone");
  CHECK(ended.code == 0);
  CHECK(has(ended.err, "warning: cannot push metrics to http://127.0.0.1:"));
}

TEST_CASE("a Pushgateway address that is not an http(s) URL is refused") {
  for (const char* wrong : {"127.0.0.1:9091", "http://", "ftp://host", "http:///metrics"}) {
    const Experiment experiment({std::string{"metrics.push="} + wrong});
    const auto refused = experiment.train("wrong");
    CAPTURE(wrong, refused.err);
    CHECK(refused.code == 2);
    CHECK(has(refused.err, "metrics.push: "));
    CHECK(has(refused.err, "allowed: http://HOST:PORT"));
  }
}
