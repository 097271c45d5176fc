#include "metrics/exposition.hpp"
#include "tests/metrics/text.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/records.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <thread>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

std::unique_ptr<Exposition> opened(bool leads = true) {
  auto exposition = Exposition::open("127.0.0.1:0", small_run(), leads);
  REQUIRE(exposition);
  return *std::move(exposition);
}

std::uint16_t port(const Exposition& exposition) {
  return exposition.listens_at().value().port;
}

/// Waits until the server notices the end of a scrape's connection.
bool becomes_awaited(const Exposition& exposition, bool awaited) {
  for (int i = 0; i < 1000 && exposition.is_awaited() != awaited; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  return exposition.is_awaited() == awaited;
}

} // namespace

TEST_CASE("a process answers from its start and is ready while it trains") {
  const auto exposition = opened();
  const auto at = port(*exposition);
  CHECK(http(at, "/healthz").status == 200);
  CHECK(http(at, "/readyz").status == 503);
  CHECK(http(at, "/readyz").body == "not ready: waiting\n");
  CHECK(http(at, "/sd").body == "[]\n");
  CHECK(has(http(at, "/metrics").body, "troupe_phase{phase=\"waiting\"} 1\n"));
  exposition->enter(JobPhase::starting);
  CHECK(http(at, "/readyz").body == "not ready: starting\n");
  for (const auto phase : {JobPhase::training, JobPhase::evaluating, JobPhase::saving}) {
    exposition->enter(phase);
    CHECK(http(at, "/readyz").status == 200);
    CHECK(http(at, "/readyz").body == "ready: " + std::string{to_string(phase)} + "\n");
  }
  exposition->enter(JobPhase::completed);
  CHECK(http(at, "/readyz").status == 503);
}

TEST_CASE("the first end of a run is final") {
  const auto exposition = opened();
  exposition->fail(Errc::numeric);
  exposition->enter(JobPhase::training);
  exposition->enter(JobPhase::completed);
  exposition->fail(Errc::network);
  const auto text = exposition->registry().text();
  CHECK(has(text, "troupe_phase{phase=\"failed\"} 1\n"));
  CHECK(has(text, "troupe_last_error{kind=\"numeric\"} 1\n"));
  CHECK_FALSE(has(text, "network"));
}

TEST_CASE("after a run's end the process waits for the next scrape if it was scraped before") {
  const auto exposition = opened();
  scrape(port(*exposition));
  exposition->enter(JobPhase::training);
  CHECK_FALSE(exposition->is_awaited());
  exposition->enter(JobPhase::stopped);
  CHECK(becomes_awaited(*exposition, true));
  http(port(*exposition), "/metrics"); // a person's request, not Prometheus's
  CHECK(exposition->is_awaited());
  CHECK(has(scrape(port(*exposition)).body, "troupe_phase{phase=\"stopped\"} 1\n"));
  CHECK(becomes_awaited(*exposition, false));
}

TEST_CASE("the end of a run that was never scraped is not waited for") {
  const auto exposition = opened();
  http(port(*exposition), "/metrics");
  exposition->enter(JobPhase::completed);
  CHECK_FALSE(exposition->is_awaited());
  auto off = Exposition::open("off", small_run(), true);
  REQUIRE(off);
  CHECK_FALSE((*off)->listens_at());
  (*off)->enter(JobPhase::completed);
  CHECK_FALSE((*off)->is_awaited());
}
