#include "nn/builder.hpp"
#include "nn/cost.hpp"
#include "training/profile/profile_rows.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <chrono>

using namespace troupe;
using namespace troupe::training;
using Catch::Approx;
using std::chrono::milliseconds;

namespace {

constexpr DeviceLimits limits = {
    .operations = 1e9, .memory = 1e6, .cache = 1e7, .cache_bytes = 1000};

/// Two convolutions of different shapes.
Graph two_convolutions() {
  nn::GraphBuilder b;
  b.begin_unit("all");
  const auto x = b.conv2d("first", b.input("images", {2, 8, 8, 3}), 4, {3, 1, 1});
  b.conv2d("second", x, 8, {3, 1, 1});
  return std::move(b).finish().value();
}

const ProfileRow& row_of(const std::vector<ProfileRow>& rows, const std::string& name) {
  const auto found = std::ranges::find(rows, name, &ProfileRow::name);
  REQUIRE(found != rows.end());
  return *found;
}

} // namespace

TEST_CASE("the least time is that of computing or of moving, whichever is longer") {
  CHECK(least_seconds(limits, 5e9, 2000) == Approx(5));
  CHECK(least_seconds(limits, 1e3, 2e6) == Approx(2));
  CHECK(least_seconds(limits, 0, 1000) == Approx(1e-4)); // fits in the cache
  CHECK(least_seconds(limits, 0, 1001) == Approx(1001e-6));
}

TEST_CASE("the least time is unknown if a rate that it depends on is unknown") {
  CHECK(least_seconds({.memory = 1e6}, 1, 1) == 0);
  CHECK(least_seconds({.operations = 1e9}, 1, 1) == 0);
  CHECK(least_seconds({.memory = 1e6}, 0, 1e6) == Approx(1));
}

TEST_CASE("rows are means of the steps, and add up to the step") {
  const auto graph = two_convolutions();
  ProfileRows rows{limits, false};
  for (int step = 0; step < 2; ++step) {
    rows.add({&graph,
              {{.name = "conv2d", .node = 0, .time = milliseconds{20}},
               {.name = "conv2d", .node = 1, .time = milliseconds{40}},
               {.name = "casts", .time = milliseconds{1}}}});
    rows.add("optimizer", 0.1, 3e6);
  }
  const auto all = rows.rows(2, 0.2);
  REQUIRE(all.size() == 4);
  CHECK(all.front().name == "optimizer"); // the longest
  CHECK(all.front().least_seconds == Approx(3));
  CHECK(all.back().name == "between ops");
  CHECK(all.back().seconds == Approx(0.2 - 0.161));
  const auto& convolutions = row_of(all, "conv2d");
  CHECK(convolutions.calls == 2);
  CHECK(convolutions.seconds == Approx(0.06));
  CHECK(convolutions.operations == Approx(nn::cost_of(graph).operations));
  CHECK(convolutions.bytes == Approx(nn::cost_of(graph).bytes));
  CHECK(row_of(all, "casts").bytes == 0);
  CHECK(row_of(all, "casts").least_seconds == 0);
}

TEST_CASE("a step that moves other tensors than its node's counts those") {
  const auto graph = two_convolutions();
  const auto output = graph.nodes[0].outputs[0];
  ProfileRows rows{limits, false};
  rows.add({&graph,
            {{.name = "fused", .node = 0, .tensors = std::vector{output}, .time = milliseconds{1}},
             {.name = "done", .node = 1, .tensors = std::vector<TensorId>{}}}});
  const auto all = rows.rows(1, 1);
  CHECK(row_of(all, "fused").bytes == Approx(nn::bytes_of(graph[output])));
  CHECK(row_of(all, "done").bytes == 0);
}

TEST_CASE("rows by shape separate the shapes of an op") {
  const auto graph = two_convolutions();
  ProfileRows rows{limits, true};
  rows.add({&graph, {{.name = "conv2d", .node = 0}, {.name = "conv2d", .node = 1}}});
  const auto all = rows.rows(1, 1);
  REQUIRE(all.size() == 3);
  CHECK(all[0].shapes != all[1].shapes);
}
