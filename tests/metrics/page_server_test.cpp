#include "metrics/http/detail/page_access.hpp"
#include "metrics/page/page.hpp"
#include "tests/metrics/text.hpp"
#include "tests/metrics/watched_run.hpp"
#include "tests/support/http_client.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>

#include <unistd.h>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

const std::string of_somebody_secret = "c29tZWJvZHk6c2VjcmV0"; // somebody:secret
constexpr std::array page_paths = {"/", "/run.json", "/events", "/report.html"};

std::unique_ptr<HttpEndpoint> start_page(WatchedRun& run, const EndpointSecurity& security = {}) {
  auto endpoint = HttpEndpoint::start("127.0.0.1:0", run.endpoint_sources(), security);
  REQUIRE(endpoint);
  return *std::move(endpoint);
}

HttpReply asked_as(const HttpEndpoint& endpoint, const std::string& host) {
  const Client client(endpoint.port());
  client.send("GET /run.json HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  return HttpReply{client.receive_all()};
}

/// Returns a question from another host.
HttpQuestion stranger(bool secure) {
  return {.path = "/", .host = "node-1:9401", .secure = secure};
}

} // namespace

TEST_CASE("the page of a run, its document and a static copy are served") {
  WatchedRun run;
  const auto endpoint = start_page(run);
  const auto port = endpoint->port();
  CHECK(http(port, "/").body == live_page());
  CHECK(has(http(port, "/").head, "Content-Type: text/html; charset=utf-8"));
  CHECK(http(port, "/run.json").body == R"({"kind":"run"})");
  CHECK(has(http(port, "/run.json").head, "Content-Type: application/json"));
  const auto report = http(port, "/report.html");
  CHECK(report.body == standalone_page(R"({"kind":"run"})"));
  CHECK(has(report.head, "Content-Disposition: attachment; filename=\"report.html\""));
  CHECK(http(port, "/", "HEAD").status == 200);
  CHECK(http(port, "/", "HEAD").body.empty());
  CHECK(http(port, "/", "POST").status == 405);
  for (const auto* path : {"/run.json", "/events", "/report.html", "/metrics", "/sd"})
    CHECK(has(http(port, "/nothing").body, path));
}

TEST_CASE("the page loads nothing from other sites and cannot be embedded by them") {
  WatchedRun run;
  const auto endpoint = start_page(run);
  for (const auto* path : {"/", "/run.json", "/report.html"}) {
    CAPTURE(path);
    const auto head = http(endpoint->port(), path).head;
    CHECK(has(head, "Content-Security-Policy: default-src 'none'; "));
    CHECK(has(head, "frame-ancestors 'none'"));
    CHECK(has(head, "X-Content-Type-Options: nosniff"));
    CHECK(has(head, "Cache-Control: no-store"));
  }
}

TEST_CASE("another domain name that resolves to this host does not show the page") {
  WatchedRun run;
  const auto endpoint = start_page(run);
  std::array<char, 256> own{};
  REQUIRE(::gethostname(own.data(), own.size() - 1) == 0);
  for (const auto& host : {std::string{"127.0.0.1:9401"}, std::string{"LocalHost"},
                           std::string{"[::1]:9401"}, std::string{own.data()}}) {
    CAPTURE(host);
    CHECK(asked_as(*endpoint, host).status == 200);
  }
  for (const auto* host :
       {"evil.example:9401", "", "localhost.evil.example", "[evil]", "127.1.evil"}) {
    CAPTURE(host);
    CHECK(asked_as(*endpoint, host).status == 403);
  }
  CHECK(asked_as(*endpoint, "evil.example").body ==
        "\"evil.example\" is not this host: open the page by its address, such as "
        "http://127.0.0.1:PORT/\n");
}

TEST_CASE("with a password the page requires it, and Prometheus does not need it") {
  WatchedRun run;
  const auto endpoint = start_page(run, {.password = "secret"});
  const auto port = endpoint->port();
  for (const auto* path : page_paths) {
    CAPTURE(path);
    const auto refused = http(port, path);
    CHECK(refused.status == 401);
    CHECK(has(refused.head, "WWW-Authenticate: Basic realm=\"troupe\""));
    CHECK(has(refused.body, "metrics.password_file"));
    CHECK_FALSE(has(refused.body, "run\""));
  }
  CHECK(http(port, "/", "GET", "Authorization: Basic " + of_somebody_secret + "\r\n").status ==
        200);
  CHECK(http(port, "/", "GET", "Authorization: Basic d3Jvbmc6c2VjcmV0cw==\r\n").status == 401);
  for (const auto* path : {"/metrics", "/sd", "/healthz", "/readyz"})
    CHECK(http(port, path).status == 200);
}

TEST_CASE("after a few wrong passwords an address gets 429, and others are answered") {
  WatchedRun run;
  const auto endpoint = start_page(run, {.password = "secret"});
  const auto status = [&](const std::string& password) {
    return http(endpoint->port(), "/", "GET", "Authorization: Basic " + password + "\r\n").status;
  };
  const std::string wrong = "d3Jvbmc6c2VjcmV0cw==";
  for (int guess = 0; guess < Guesses::free; ++guess)
    CHECK(status(wrong) == 401);
  CHECK(status(wrong) == 429);
  CHECK(status(of_somebody_secret) ==
        429); // during the wait even the right password is not checked
  CHECK(http(endpoint->port(), "/").status == 401);
  CHECK(http(endpoint->port(), "/metrics").status == 200);
}

TEST_CASE("the delay after wrong passwords grows, ends with a right one and takes little memory") {
  using namespace std::chrono_literals;
  Guesses guesses;
  const Guesses::Clock::time_point now{1h};
  for (int guess = 0; guess < Guesses::free; ++guess) {
    CHECK(guesses.wait("a", now) == 0s);
    guesses.note_wrong("a", now);
  }
  CHECK(guesses.wait("a", now) == 2s);
  CHECK(guesses.wait("a", now + 2s) == 0s);
  CHECK(guesses.wait("b", now) == 0s);
  guesses.note_wrong("a", now + 2s);
  CHECK(guesses.wait("a", now + 2s) == 4s);
  for (int guess = 0; guess < 100; ++guess)
    guesses.note_wrong("a", now);
  CHECK(guesses.wait("a", now) == 60s);
  for (int address = 0; address < 5000; ++address)
    guesses.note_wrong(std::to_string(address), now);
  CHECK(guesses.size() == Guesses::most_addresses);
  CHECK(guesses.wait("a", now) == 60s); // addresses with a shorter wait are forgotten first
  guesses.note_right("a");
  CHECK(guesses.wait("a", now) == 0s);
}

TEST_CASE("only the password is checked, with any user name") {
  CHECK(has_password("Basic " + of_somebody_secret, "secret"));
  CHECK(has_password("bAsIc OnNlY3JldA==", "secret")); // :secret
  CHECK(has_password("Basic YTpiOmM=", "b:c"));
  CHECK(has_password("Basic YTo=", ""));
  for (const auto* other : {"", "Basic", "Basic ", "Basic c2VjcmV0", "Basic !!!!", "Basic YTpiOmM",
                            "Bearer OnNlY3JldA==", "Basic ====",
                            "Basic OnNlY3JldAA=" /* :secret and a zero */, "Basic OnNlY3JldHM="}) {
    CAPTURE(other);
    CHECK_FALSE(has_password(other, "secret"));
  }
}

TEST_CASE("other hosts are told what they need to see the page") {
  const auto said = [](const PageAccess& access, const HttpQuestion& question) {
    const auto refused = access.refusal(question);
    return refused ? std::to_string(refused->status) + " " + refused->body : "";
  };
  CHECK(has(said({}, stranger(false)),
            "403 other hosts can see the page only with a password: set metrics.password_file"));
  CHECK(has(said({.https = true}, stranger(true)), "metrics.password_file"));
  CHECK(has(said({.password = "secret"}, stranger(false)),
            "403 other hosts can see the page only over TLS: set certificate, key and ca of "
            "cluster.tls"));
  CHECK(has(said({.password = "secret", .https = true}, stranger(false)), "https://"));
  CHECK(has(said({.password = "secret", .https = true}, stranger(true)), "401 "));
  auto knows = stranger(true);
  knows.authorization = "Basic " + of_somebody_secret;
  CHECK(said({.password = "secret", .https = true}, knows).empty());
  CHECK(has(said({}, knows), "403 "));
  knows.secure = false; // a password sent in the clear is refused
  CHECK(has(said({.password = "secret", .https = true}, knows), "403 "));
}
