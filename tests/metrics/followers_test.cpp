#include "metrics/http/detail/followers.hpp"
#include "tests/metrics/text.hpp"
#include "tests/metrics/watched_run.hpp"
#include "tests/support/http_client.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <sys/socket.h>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

const std::string document_event = "event: document\ndata: {\"kind\":\"run\"}\n\n";

/// A follower that can refuse events.
struct Reader : EventSink {
  bool is_free() const override { return takes; }
  void send(EventText event) override { got.push_back(*event); }

  bool takes = true;
  std::vector<std::string> got;
};

std::unique_ptr<HttpEndpoint> start_followed(WatchedRun& run,
                                             const EndpointTimes& times = {.tick = 5ms}) {
  auto endpoint = HttpEndpoint::start("127.0.0.1:0", run.endpoint_sources(), {}, times);
  REQUIRE(endpoint);
  return *std::move(endpoint);
}

std::unique_ptr<Client> follower(const HttpEndpoint& endpoint) {
  auto client = std::make_unique<Client>(endpoint.port());
  client->send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return client;
}

template <class Condition>
bool comes_true(const Condition& condition) {
  for (int i = 0; i < 6000 && !condition(); ++i)
    std::this_thread::sleep_for(10ms);
  return condition();
}

} // namespace

TEST_CASE("a follower gets the whole document and then the changes") {
  WatchedRun run;
  const auto sources = run.sources();
  Followers followers{sources};
  Reader first, second;
  followers.tick();
  CHECK_FALSE(run.is_watched());
  followers.add(first);
  CHECK(run.is_watched());
  run.change("{\"generation\":2}");
  followers.tick();
  followers.add(second);
  followers.tick(); // no new change
  CHECK(first.got ==
        std::vector<std::string>{document_event, "event: changes\ndata: {\"generation\":2}\n\n"});
  CHECK(second.got == std::vector<std::string>{document_event});
  followers.remove(first);
  CHECK(run.is_watched());
  followers.remove(second);
  CHECK_FALSE(run.is_watched());
}

TEST_CASE("a follower that is too slow misses events and then gets the whole document") {
  WatchedRun run;
  const auto sources = run.sources();
  Followers followers{sources};
  Reader quick, slow, slower;
  for (auto* reader : {&quick, &slow, &slower})
    followers.add(*reader);
  slow.takes = slower.takes = false;
  run.change_always("{}");
  followers.tick();
  followers.tick();
  CHECK(quick.got.size() == 3);
  CHECK(slow.got.size() == 1);
  slow.takes = slower.takes = true;
  const int made = run.documents();
  followers.tick();
  CHECK(run.documents() == made + 1); // one document for both
  CHECK(slow.got == std::vector<std::string>{document_event, document_event});
  CHECK(slower.got == slow.got);
  followers.tick();
  CHECK(slow.got.back() == "event: changes\ndata: {}\n\n");
}

TEST_CASE("a follower without changes gets regular keep-alive comments") {
  WatchedRun run;
  const auto sources = run.sources();
  Followers followers{sources};
  Reader reader;
  followers.add(reader);
  for (int second = 1; second < 15; ++second)
    followers.tick();
  REQUIRE(reader.got.size() == 2);
  CHECK(reader.got.back().starts_with(":"));
  CHECK(reader.got.back().ends_with("\n\n"));
}

TEST_CASE("line breaks in a document do not end an event") {
  WatchedRun run;
  run.set_document("{\n}");
  const auto sources = run.sources();
  Followers followers{sources};
  Reader reader;
  followers.add(reader);
  CHECK(reader.got.front() == "event: document\ndata: {\ndata: }\n\n");
}

TEST_CASE("/events streams a run over HTTP, and its changes while it is followed") {
  WatchedRun run;
  const auto endpoint = start_followed(run);
  auto client = follower(*endpoint);
  const auto begin = client->receive_until(document_event);
  CHECK(begin.starts_with("HTTP/1.1 200"));
  CHECK(has(begin, "Content-Type: text/event-stream\r\n"));
  CHECK_FALSE(has(begin, "Content-Length"));
  CHECK(run.is_watched());
  run.change("{\"status\":\"saving\"}");
  CHECK(has(client->receive_until("\n\n"), "event: changes\ndata: {\"status\":\"saving\"}\n\n"));
  client.reset();
  CHECK(comes_true([&] { return !run.is_watched(); }));
  follower(*endpoint)->receive_until(document_event);
  CHECK(run.times_watched() == 2);
}

TEST_CASE("followers are told how the run ended, even if the program ends at once") {
  WatchedRun run;
  auto endpoint = start_followed(run, {.tick = 1h});
  const auto client = follower(*endpoint);
  client->receive_until(document_event);
  run.change("{\"status\":\"completed\"}");
  run.set_document("{\"status\":\"completed\"}");
  endpoint.reset();
  // As a change, or in the whole document when the server does not know yet that its first document
  // was taken.
  CHECK(has(client->receive_all(), "data: {\"status\":\"completed\"}\n\n"));
}

TEST_CASE("a run has at most sixteen followers, and HEAD is not one") {
  WatchedRun run;
  const auto endpoint = start_followed(run);
  std::vector<std::unique_ptr<Client>> all;
  for (std::size_t i = 0; i < Followers::most; ++i) {
    all.push_back(follower(*endpoint));
    REQUIRE(has(all.back()->receive_until(document_event), document_event));
  }
  const auto refused = http(endpoint->port(), "/events");
  CHECK(refused.status == 503);
  CHECK(has(refused.body, "too many"));
  CHECK(http(endpoint->port(), "/run.json").status == 200);
  all.pop_back();
  CHECK(comes_true([&] { // when the server has noticed
    const auto client = follower(*endpoint);
    return has(client->receive_until("\n\n"), "200 OK");
  }));
  all.clear();
  CHECK(http(endpoint->port(), "/events", "HEAD").body.empty());
}

TEST_CASE("a follower that reads nothing is dropped and does not delay others") {
  WatchedRun run;
  run.set_document(std::string(8 << 20, 'd')); // more than the system buffers
  const auto endpoint = start_followed(run, {.to_take = 300ms, .tick = 5ms});
  const auto silent = follower(*endpoint);
  REQUIRE(comes_true([&] { return run.is_watched(); }));
  run.set_document("{\"kind\":\"run\"}");
  auto reads = follower(*endpoint);
  CHECK(has(reads->receive_until(document_event), document_event));
  run.change("{\"epoch\":1}");
  CHECK(has(reads->receive_until("\n\n"), "\"epoch\""));
  CHECK(scrape(endpoint->port()).status == 200);
  reads.reset();
  CHECK(comes_true([&] { return !run.is_watched(); }));
}

TEST_CASE("the endpoint closes at once while runs are followed, and reports no followers") {
  WatchedRun run;
  auto endpoint = start_followed(run);
  std::vector<std::unique_ptr<Client>> all;
  for (int i = 0; i < 3; ++i) {
    all.push_back(follower(*endpoint));
    all.back()->receive_until(document_event);
  }
  const auto begin = std::chrono::steady_clock::now();
  endpoint.reset();
  CHECK(std::chrono::steady_clock::now() - begin < 1s);
  CHECK_FALSE(run.is_watched());
}
