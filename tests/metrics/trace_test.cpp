// Tests timelines: the contents of the file, spans that wait for their events, and the cost for a
// run that writes none.
#include "metrics/trace.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include <csignal>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

struct FakeEvent : Event {
  bool ready() const override { return reached.has_value(); }
  std::chrono::nanoseconds time() const override { return reached.value(); }
  std::optional<std::chrono::nanoseconds> reached;
};

/// A stream whose work completes when the test says so.
struct FakeStream : Stream {
  EventPtr record() override { return events.emplace_back(std::make_shared<FakeEvent>()); }
  void wait(EventPtr) override {}
  void on_complete(Callback) override {}
  Status synchronize() override { return {}; }
  void begin_range(const std::string& name) override { ranges.push_back(name); }
  void end_range() override { ranges.emplace_back("end"); }

  std::vector<std::shared_ptr<FakeEvent>> events;
  std::vector<std::string> ranges;
};

Trace create(const std::filesystem::path& path, const TraceLimits& limits = {}) {
  auto trace = Trace::create(path, limits);
  if (!trace)
    FAIL(trace.error().to_string());
  return *std::move(trace);
}

/// Returns the events of a file, also of a file that a killed process left.
std::vector<nlohmann::json> read(const std::filesystem::path& path) {
  auto text = read_bytes(path);
  if (!text.ends_with("]\n"))
    text = text.substr(0, text.rfind(',')) + "]";
  return nlohmann::json::parse(text);
}

std::vector<nlohmann::json> spans(const std::filesystem::path& path) {
  auto events = read(path);
  std::erase_if(events, [](const auto& event) { return event["ph"] != "X"; });
  return events;
}

} // namespace

TEST_CASE("a span of a stream lasts between its events, in the stream's row and with its label") {
  const ScratchFolder folder;
  const auto trace = create(folder / "trace.json");
  const auto track = trace.track("rank 0", "communication");
  FakeStream stream;
  {
    const auto span = track.span(stream, {SpanKind::collective, "all_reduce", "bucket 1", 7, 4096});
    REQUIRE(stream.events.size() == 1);
  }
  REQUIRE(stream.events.size() == 2);
  CHECK(stream.ranges == std::vector<std::string>{"all_reduce bucket 1", "end"});
  stream.events[0]->reached = 5'000'001ns;
  stream.events[1]->reached = 7'001'002ns;
  REQUIRE(trace.close());
  const auto found = spans(folder / "trace.json");
  REQUIRE(found.size() == 1);
  CHECK(found[0]["name"] == "all_reduce bucket 1");
  CHECK(found[0]["cat"] == "collective");
  CHECK(found[0]["ts"] == 5000.001);
  CHECK(found[0]["dur"] == 2001.001);
  CHECK(found[0]["args"] == nlohmann::json{{"step", 7}, {"bytes", 4096}});
}

TEST_CASE("rows have names and belong to groups") {
  const ScratchFolder folder;
  const auto trace = create(folder / "trace.json");
  trace.track("rank \"0\"", "compute").add({.name = "a"}, 1us, 2us);
  trace.track("rank 1", "compute").add({.name = "b"}, 1us, 2us);
  trace.track("rank \"0\"", "worker").add({.name = "c"}, 1us, 2us);
  REQUIRE(trace.close());
  std::map<int, std::string> groups, rows;
  for (const auto& event : read(folder / "trace.json")) {
    if (event["name"] == "process_name")
      groups[event["pid"]] = event["args"]["name"];
    if (event["name"] == "thread_name")
      rows[event["tid"]] = event["args"]["name"];
  }
  std::vector<std::string> places;
  for (const auto& span : spans(folder / "trace.json"))
    places.push_back(groups.at(span["pid"]) + "/" + rows.at(span["tid"]));
  CHECK(places ==
        std::vector<std::string>{"rank \"0\"/compute", "rank 1/compute", "rank \"0\"/worker"});
}

TEST_CASE("a span of the calling thread lasts as long as its scope") {
  const ScratchFolder folder;
  const auto trace = create(folder / "trace.json");
  const auto before = std::chrono::steady_clock::now().time_since_epoch();
  { const auto span = trace.track("node", "worker").span({SpanKind::handler, "batch"}); }
  const auto after = std::chrono::steady_clock::now().time_since_epoch();
  REQUIRE(trace.close());
  const auto found = spans(folder / "trace.json");
  REQUIRE(found.size() == 1);
  const auto begin = found[0]["ts"].get<double>(), duration = found[0]["dur"].get<double>();
  CHECK(begin + 1e-3 >= std::chrono::duration<double, std::micro>(before).count());
  CHECK(begin + duration - 2e-3 <= std::chrono::duration<double, std::micro>(after).count());
}

TEST_CASE("spans are written once their events are complete, and a killed run's file is readable") {
  const ScratchFolder folder;
  const auto path = folder / "trace.json";
  ChildProcess child{[&path](int) {
    FakeStream stream;
    const auto trace = *Trace::create(path);
    const auto track = trace.track("rank 0", "compute");
    std::ignore = track.span(stream, {.name = "done"});
    std::ignore = track.span(stream, {.name = "under way"});
    stream.events[0]->reached = stream.events[1]->reached = 1ms;
    stream.events[2]->reached = 2ms;
    std::ignore = trace.flush();
    ::raise(SIGKILL);
  }};
  child.wait_for_output();
  CHECK_FALSE(std::filesystem::exists(path));
  const auto left = *std::filesystem::directory_iterator{folder.path()};
  const auto found = spans(left.path());
  REQUIRE(found.size() == 1);
  CHECK(found[0]["name"] == "done");
}

TEST_CASE("memory and file are bounded, and the file reports what was dropped") {
  const ScratchFolder folder;
  const auto trace = create(folder / "trace.json", {.waiting = 2, .written = 3});
  const auto track = trace.track("rank 0", "compute");
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 5; ++i)
      track.add({.name = "a"}, 1us, 2us);
    REQUIRE(trace.flush());
  }
  REQUIRE(trace.close());
  CHECK(spans(folder / "trace.json").size() == 3);
  CHECK(read(folder / "trace.json").back()["args"] == nlohmann::json{{"spans", 3}, {"dropped", 7}});
}

TEST_CASE("a disabled track records nothing") {
  FakeStream stream;
  const auto track = Trace{}.track("rank 0", "compute");
  {
    const auto span = track.span(stream, {.name = "forward"});
    const auto handler = track.span({.name = "batch"});
  }
  CHECK_FALSE(track.on());
  CHECK(stream.events.empty());
  CHECK(stream.ranges.empty());
}

TEST_CASE("a trace that cannot be created reports why") {
  const ScratchFolder folder;
  const auto trace = Trace::create(folder / "missing/trace.json");
  REQUIRE_FALSE(trace);
  CHECK(trace.error().code == Errc::io);
}
