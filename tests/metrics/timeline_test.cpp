// Tests a section of a timeline: the spans that it contains, those that are forgotten, and those
// that wait for their device.
#include "metrics/live/step_cut.hpp"
#include "metrics/trace.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <optional>
#include <string>

using namespace troupe;
using namespace troupe::metrics;
using namespace std::chrono_literals;

namespace {

struct LateEvent : Event {
  bool ready() const override { return reached.has_value(); }
  std::chrono::nanoseconds time() const override { return reached.value(); }
  std::optional<std::chrono::nanoseconds> reached;
};

/// A trace that is watched.
struct Watched {
  Watched() { trace.watch(true); }
  Timeline take(std::chrono::nanoseconds begin, std::chrono::nanoseconds end,
                std::size_t most = 3000) const {
    return trace.take(begin, end, most);
  }
  Trace trace = Trace::unwritten();
};

std::vector<std::string> names_of(const Timeline& timeline) {
  std::vector<std::string> names;
  for (const auto& row : timeline.rows)
    for (const auto& span : row.spans)
      names.push_back(row.group + "/" + row.name + "/" + span.name);
  return names;
}

using Names = std::vector<std::string>;

} // namespace

TEST_CASE("an excerpt contains the spans within its time, clipped at both ends, in grouped rows") {
  const Watched watched;
  const auto worker = watched.trace.track("node", "loader");
  const auto compute = watched.trace.track("rank 0", "compute");
  const auto other = watched.trace.track("node", "metrics");
  compute.add({.kind = SpanKind::optimizer, .name = "update"}, 1500ms, 2500ms);
  compute.add({.name = "later"}, 2500ms, 3s);
  worker.add({.kind = SpanKind::data, .name = "load"}, 0s, 1250ms);
  worker.add({.name = "before"}, 0s, 1s);
  other.add({.name = "tick"}, 1s, 2s);
  const auto piece = watched.take(1s, 2s);
  CHECK(piece.seconds == 1);
  CHECK(names_of(piece) == Names{"node/loader/load", "node/metrics/tick", "rank 0/compute/update"});
  CHECK(piece.rows[0].spans[0].begin == 0);
  CHECK(piece.rows[0].spans[0].seconds == 0.25);
  CHECK(piece.rows[2].spans[0].begin == 0.5);
  CHECK(piece.rows[2].spans[0].seconds == 0.5);
  CHECK(piece.rows[2].spans[0].kind == SpanKind::optimizer);
  // A span that extends into the next section is part of that section too; earlier spans are
  // forgotten.
  CHECK(names_of(watched.take(2s, 3s)) == Names{"rank 0/compute/update", "rank 0/compute/later"});
  CHECK(names_of(watched.take(0s, 9s)).empty());
}

TEST_CASE("unfinished device spans do not delay an excerpt and are shown in a later one") {
  const Watched watched;
  const auto begin = std::make_shared<LateEvent>(), end = std::make_shared<LateEvent>();
  watched.trace.track("rank 0", "compute").add({.name = "forward"}, begin, end);
  begin->reached = 1s;
  CHECK(names_of(watched.take(1s, 2s)).empty());
  end->reached = 3s;
  CHECK(watched.take(2s, 3s).rows.at(0).spans.at(0).seconds == 1);
}

TEST_CASE("if there are too many spans, the longest are shown and the others are counted") {
  const Watched watched;
  const auto track = watched.trace.track("rank 0", "compute");
  for (int i = 1; i <= 100; ++i)
    track.add({.name = std::to_string(i)}, i * 1s, i * 1s + std::chrono::milliseconds{i});
  const auto piece = watched.take(0s, 200s, 3);
  CHECK(piece.dropped == 97);
  CHECK(names_of(piece) == Names{"rank 0/compute/98", "rank 0/compute/99", "rank 0/compute/100"});
  for (int i = 0; i < 10; ++i)
    track.add({.name = "same"}, 201s, 202s);
  CHECK(watched.take(200s, 300s, 3).dropped == 7);
}

TEST_CASE("memory is bounded, and an excerpt reports what is missing") {
  const Watched watched;
  const auto track = watched.trace.track("rank 0", "compute");
  for (int i = 0; i < 40'000; ++i)
    track.add({.name = "a"}, std::chrono::microseconds{i}, std::chrono::microseconds{i + 1});
  const auto all = watched.take(0s, 1s, 100'000);
  REQUIRE(all.rows.size() == 1);
  CHECK(all.rows[0].spans.size() < 40'000);
  CHECK(static_cast<std::size_t>(all.dropped) == 40'000 - all.rows[0].spans.size());
}

TEST_CASE("a trace records nothing before and after it is watched") {
  const auto trace = Trace::unwritten();
  const auto track = trace.track("rank 0", "compute");
  track.add({.name = "a"}, 1s, 2s);
  CHECK_FALSE(track.on());
  trace.watch(true);
  CHECK(trace.take(0s, 9s, 10).rows.empty());
  track.add({.name = "b"}, 1s, 2s);
  trace.watch(false);
  trace.watch(true);
  CHECK(trace.take(0s, 9s, 10).rows.empty());
  CHECK(trace.flush());
  CHECK(trace.close());
  CHECK(Trace{}.take(0s, 9s, 10).rows.empty());
}

TEST_CASE("a step is the time between two commits, or from the start of training to the first") {
  StepCut cut;
  cut.commit(3, 1s); // its start is unknown
  CHECK_FALSE(cut.take());
  cut.commit(4, 2s);
  cut.commit(5, 4s);
  const auto piece = cut.take().value();
  CHECK(piece.step == 5);
  CHECK(piece.begin == 2s);
  CHECK(piece.end == 4s);
  CHECK_FALSE(cut.take());
  cut.stop();
  cut.begin(10s);
  cut.commit(6, 11s);
  CHECK(cut.take().value().begin == 10s);
}
