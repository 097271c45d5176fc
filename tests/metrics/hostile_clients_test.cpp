// Tests that clients that connect and misbehave delay no scrape.
#include "tests/metrics/text.hpp"
#include "tests/metrics/watched_run.hpp"
#include "tests/support/http_client.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <memory>
#include <vector>

#include <sys/resource.h>
#include <sys/socket.h>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

using Clients = std::vector<std::unique_ptr<Client>>;

std::unique_ptr<HttpEndpoint> start_attacked(EndpointSources sources) {
  auto endpoint = HttpEndpoint::start("127.0.0.1:0", std::move(sources));
  REQUIRE(endpoint);
  return *std::move(endpoint);
}

/// Connects clients; new connections replace the oldest ones.
void connect_to(const HttpEndpoint& endpoint, Clients& clients, int count,
                const std::string& request) {
  for (int i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<Client>(endpoint.port()));
    if (!request.empty())
      clients.back()->send(request);
  }
}

bool is_over(const Client& client) {
  char byte = 0;
  const auto count = ::recv(client.number(), &byte, 1, MSG_DONTWAIT | MSG_PEEK);
  return count == 0 || (count < 0 && errno == ECONNRESET);
}

void allow_many_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

} // namespace

TEST_CASE("a thousand silent connections do not delay a scrape or a follower") {
  allow_many_files();
  WatchedRun run;
  const auto endpoint = start_attacked(run.endpoint_sources());
  const Client follower{endpoint->port()};
  follower.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  REQUIRE(has(follower.receive_until("}\n\n"), "event: document"));
  Clients clients;
  connect_to(*endpoint, clients, 500, "");
  connect_to(*endpoint, clients, 500, "GET /metr");
  CHECK(scrape(endpoint->port()).body == "troupe_loss 1\n");
  run.change("{\"epoch\":1}");
  CHECK(has(follower.receive_until("}\n\n"), "event: changes"));
  const auto over =
      std::ranges::count_if(clients, [](const auto& client) { return is_over(*client); });
  CHECK(over >= 1000 - 128); // the server holds no more
}

TEST_CASE("clients that do not read their response do not delay a scrape") {
  WatchedRun run;
  auto sources = run.endpoint_sources();
  bool much = true;
  sources.metrics = [&much] { return much ? std::string(8 << 20, 'm') : "troupe_loss 1\n"; };
  const auto endpoint = start_attacked(std::move(sources));
  Clients clients;
  connect_to(*endpoint, clients, 20, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
  for (const auto& client : clients) // all have been requested
    CHECK(client->receive_until("\r\n\r\n").starts_with("HTTP/1.1 200"));
  much = false;
  CHECK(scrape(endpoint->port()).body == "troupe_loss 1\n");
}

TEST_CASE("a client that sends more than a request is answered, and the rest is discarded") {
  WatchedRun run;
  const auto endpoint = start_attacked(run.endpoint_sources());
  const Client talker{endpoint->port()};
  talker.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n");
  for (int i = 0; i < 100; ++i)
    talker.send(std::string(1000, 'x'));
  CHECK(talker.receive_until("ok\n").starts_with("HTTP/1.1 200"));
  const Client follower{endpoint->port()};
  follower.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\nand more");
  CHECK(has(follower.receive_until("}\n\n"), "event: document"));
  follower.send("and more");
  follower.receive_all(); // until the server closes the connection
  CHECK(scrape(endpoint->port()).status == 200);
}
