#include "metrics/exposition.hpp"
#include "metrics/http/endpoint.hpp"
#include "tests/metrics/text.hpp"
#include "tests/support/http_client.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

std::unique_ptr<HttpEndpoint> start(const Readiness& readiness = {true, "training"}) {
  auto endpoint =
      HttpEndpoint::start("127.0.0.1:0", {.metrics = [] { return std::string("troupe_loss 1\n"); },
                                          .readiness = [readiness] { return readiness; }});
  REQUIRE(endpoint);
  return *std::move(endpoint);
}

} // namespace

TEST_CASE("a port of 0 becomes a free port, which is reported") {
  const auto first = start(), second = start();
  CHECK(first->port() != 0);
  CHECK(first->port() != second->port());
  CHECK(first->address() == "127.0.0.1:" + std::to_string(first->port()));
}

TEST_CASE("/metrics answers in the text format of Prometheus") {
  const auto endpoint = start();
  const auto reply = http(endpoint->port(), "/metrics");
  CHECK(reply.status == 200);
  CHECK(has(reply.head, "Content-Type: text/plain; version=0.0.4; charset=utf-8"));
  CHECK(has(reply.head, "Content-Length: 14"));
  CHECK(reply.body == "troupe_loss 1\n");
  CHECK(http(endpoint->port(), "/metrics?name=x").status == 200);
}

TEST_CASE("/sd answers with the current targets in the format of Prometheus's service discovery") {
  ScrapeTargets targets;
  const auto endpoint = HttpEndpoint::start(
      "127.0.0.1:0", {.metrics = {}, .readiness = {}, .targets = [&] { return targets.json(); }});
  REQUIRE(endpoint);
  const auto port = (*endpoint)->port();
  CHECK(http(port, "/sd").body == "[]\n");
  targets.set({{"node-1:9401", {{"node", "node-1"}}}, {"[::1]:9401", {}}});
  const auto reply = http(port, "/sd");
  CHECK(reply.status == 200);
  CHECK(has(reply.head, "Content-Type: application/json\r\n"));
  CHECK(reply.body == R"([{"labels":{"node":"node-1"},"targets":["node-1:9401"]},)"
                      R"({"labels":{},"targets":["[::1]:9401"]}])"
                      "\n");
}

TEST_CASE("/healthz answers while the process runs, /readyz reports whether it is ready and why") {
  const auto working = start(), waiting = start({false, "waits for 2 of 4 workers"});
  CHECK(http(waiting->port(), "/healthz").status == 200);
  CHECK(http(working->port(), "/readyz").status == 200);
  CHECK(http(working->port(), "/readyz").body == "ready: training\n");
  CHECK(http(waiting->port(), "/readyz").status == 503);
  CHECK(http(waiting->port(), "/readyz").body == "not ready: waits for 2 of 4 workers\n");
}

TEST_CASE("unknown paths and methods are refused with the right status") {
  const auto endpoint = start();
  CHECK(http(endpoint->port(), "/").status == 404);
  CHECK(http(endpoint->port(), "/metricsx").status == 404);
  CHECK(http(endpoint->port(), "/metrics", "POST").status == 405);
  CHECK(http(endpoint->port(), "/metrics", "HEAD").status == 200);
  CHECK(http(endpoint->port(), "/metrics", "HEAD").body.empty());
  const Client client(endpoint->port());
  client.send("what is this?\r\n\r\n");
  CHECK(client.receive_all().starts_with("HTTP/1.1 400"));
}

TEST_CASE("an endless request is closed, and one that arrives in parts is answered") {
  const auto endpoint = start();
  const Client endless(endpoint->port());
  for (int i = 0; i < 4; ++i)
    endless.send("GET /metrics HTTP/1.1\r\nX: " + std::string(4000, 'x'));
  endless.send(std::string(4000, 'x'));
  CHECK(endless.receive_all().empty());
  const Client slow(endpoint->port());
  slow.send("GET /heal");
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  slow.send("thz HTTP/1.0\r\n\r\n");
  CHECK(slow.receive_all().starts_with("HTTP/1.1 200"));
}

TEST_CASE("silent clients do not delay others") {
  const auto endpoint = start();
  std::vector<std::unique_ptr<Client>> silent;
  silent.reserve(20);
  for (int i = 0; i < 20; ++i)
    silent.push_back(std::make_unique<Client>(endpoint->port()));
  CHECK(http(endpoint->port(), "/metrics").status == 200);
}

TEST_CASE("many simultaneous clients are answered, also with large responses") {
  const std::string large(1 << 20, 'm');
  auto endpoint = HttpEndpoint::start(
      "127.0.0.1:0", {.metrics = [&large] { return std::string{large}; }, .readiness = {}});
  REQUIRE(endpoint);
  std::atomic<int> complete = 0;
  std::vector<std::thread> clients;
  clients.reserve(8);
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&] { complete += http((*endpoint)->port(), "/metrics").body == large; });
  for (auto& client : clients)
    client.join();
  CHECK(complete == 8);
}

TEST_CASE("the endpoint closes at once, even with an open connection, and frees its port") {
  auto endpoint = start();
  const auto address = endpoint->address();
  const Client open(endpoint->port());
  http(endpoint->port(), "/metrics");
  const auto begin = std::chrono::steady_clock::now();
  endpoint.reset();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
  CHECK(HttpEndpoint::start(address, {}).has_value());
}

TEST_CASE("a port in use is an error that names the address, the key and a remedy") {
  const auto endpoint = start();
  const auto second = HttpEndpoint::start(endpoint->address(), {});
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::network);
  CHECK(has(second.error().message, endpoint->address()));
  CHECK(has(second.error().message, "metrics.listen"));
  CHECK(has(second.error().message, "choose another port"));
  CHECK(has(second.error().message, "in use"));
}

TEST_CASE("an unknown host and an invalid address are errors") {
  const auto unknown = HttpEndpoint::start("host.invalid:9401", {});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == Errc::network);
  CHECK(has(unknown.error().message, "host.invalid:9401"));
  const auto nonsense = HttpEndpoint::start("9401", {});
  REQUIRE_FALSE(nonsense);
  CHECK(nonsense.error().code == Errc::invalid_input);
}
