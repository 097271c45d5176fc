#include "core/net/sigpipe.hpp"
#include "tests/metrics/text.hpp"
#include "tests/metrics/watched_run.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/tls_client.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <thread>
#include <vector>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

class SecuredEndpoint {
public:
  explicit SecuredEndpoint(std::optional<std::string> password = {}) {
    const auto tls = certificates_.of("node");
    auto endpoint = HttpEndpoint::start(
        "127.0.0.1:0", run_.endpoint_sources(),
        {.certificate = tls.certificate, .key = tls.key, .password = std::move(password)},
        {.tick = 5ms});
    REQUIRE(endpoint);
    endpoint_ = *std::move(endpoint);
  }

  WatchedRun& run() { return run_; }
  const HttpEndpoint& operator*() const { return *endpoint_; }
  std::uint16_t port() const { return endpoint_->port(); }
  void end() { endpoint_.reset(); }

private:
  Certificates certificates_;
  WatchedRun run_;
  std::unique_ptr<HttpEndpoint> endpoint_;
};

} // namespace

TEST_CASE(
    "one port answers http and https, with the cluster's certificate and without a client's") {
  const SecuredEndpoint endpoint;
  CHECK(http(endpoint.port(), "/metrics").body == "troupe_loss 1\n");
  const Client client{endpoint.port()};
  const TlsClient tls{client};
  CHECK(has(tls.server_name(), "CN=node"));
  tls.send("GET /metrics HTTP/1.1\r\nHost: node\r\n\r\n");
  CHECK(HttpReply{tls.receive_all()}.body == "troupe_loss 1\n");
  CHECK(https(Client{endpoint.port()}, "/run.json").body == R"({"kind":"run"})");
}

TEST_CASE("a password is accepted over TLS") {
  const SecuredEndpoint endpoint{"secret"};
  CHECK(https(Client{endpoint.port()}, "/").status == 401);
  CHECK(https(Client{endpoint.port()}, "/", "Authorization: Basic OnNlY3JldA==\r\n").status == 200);
}

TEST_CASE("a run is followed over TLS") {
  SecuredEndpoint endpoint;
  const Client client{endpoint.port()};
  const TlsClient tls{client};
  tls.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  CHECK(has(tls.receive_until("}\n\n"), "event: document\n"));
  endpoint.run().change("{\"epoch\":1}");
  CHECK(has(tls.receive_until("}\n\n"), "event: changes\ndata: {\"epoch\":1}\n\n"));
  endpoint.end();
  CHECK_FALSE(endpoint.run().is_watched());
}

TEST_CASE("large responses are sent over TLS, and a completed scrape is recorded") {
  const SecuredEndpoint endpoint;
  CHECK_FALSE((*endpoint).last_scrape());
  CHECK(https(Client{endpoint.port()}, "/metrics", "X-Prometheus-Scrape-Timeout-Seconds: 1\r\n")
            .status == 200);
  for (int i = 0; i < 1000 && !(*endpoint).last_scrape(); ++i)
    std::this_thread::sleep_for(10ms);
  CHECK((*endpoint).last_scrape());
}

TEST_CASE("an incomplete TLS handshake does not delay others") {
  const net::NoSigpipe no_sigpipe;
  const SecuredEndpoint endpoint;
  std::vector<std::unique_ptr<Client>> halfway;
  for (int i = 0; i < 20; ++i) {
    halfway.push_back(std::make_unique<Client>(endpoint.port()));
    halfway.back()->send(std::string{"\x16\x03\x01\x02\x00\x01", 6});
  }
  CHECK(https(Client{endpoint.port()}, "/metrics").status == 200);
  const Client nonsense{endpoint.port()};
  nonsense.send(std::string{"\x16\x03\x01\x00\x05nonsense", 13} + std::string(600, 'x'));
  CHECK(nonsense.receive_all().starts_with("HTTP/1.1 400"));
}

TEST_CASE("without certificates TLS is refused, and unreadable ones are an error") {
  WatchedRun run;
  const auto plain = HttpEndpoint::start("127.0.0.1:0", run.endpoint_sources());
  REQUIRE(plain);
  const Client client{(*plain)->port()};
  CHECK_THROWS(TlsClient{client});
  const Certificates certificates;
  const auto no_file = HttpEndpoint::start(
      "127.0.0.1:0", run.endpoint_sources(),
      {.certificate = certificates.path("missing.crt"), .key = certificates.path("node.key")});
  REQUIRE_FALSE(no_file);
  CHECK(no_file.error().code == Errc::invalid_input);
  CHECK(has(no_file.error().message, "cluster.tls.certificate: "));
  CHECK(has(no_file.error().message, "missing.crt"));
  const auto wrong_key = HttpEndpoint::start(
      "127.0.0.1:0", run.endpoint_sources(),
      {.certificate = certificates.path("node.crt"), .key = certificates.path("client.key")});
  REQUIRE_FALSE(wrong_key);
  CHECK(has(wrong_key.error().message, "cluster.tls.key: "));
}
