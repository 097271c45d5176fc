// Tests when slices are reassigned, and to which ranks.
#include "actors/roles/detail/slice_balancer.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using troupe::actors::SliceBalancer;
using troupe::data::SliceAssignment;

namespace {

using Counts = std::vector<int>;

/// Adds `steps` steps in which a slice took each rank the given time.
void add_steps(SliceBalancer& balancer, int steps,
               const std::vector<std::chrono::milliseconds>& slice) {
  for (int step = 0; step < steps; ++step)
    for (std::size_t i = 0; i < slice.size(); ++i) {
      const auto rank = static_cast<std::int32_t>(i);
      balancer.add(rank, balancer.slice_assignment().slices_of(rank) * slice[i]);
    }
}

} // namespace

TEST_CASE("slices are assigned by speed after eight steps, then every 64 steps") {
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{12, 3}, .by_speed = true}, 100};
  CHECK(balancer.slice_assignment().counts() == Counts{4, 4, 4});
  CHECK_FALSE(balancer.assign(100));
  CHECK(balancer.next_look(100) == 108);
  add_steps(balancer, 8, {10ms, 25ms, 10ms});
  CHECK(balancer.assign(108) == Counts{5, 2, 5});
  CHECK(balancer.next_look(108) == 172);
  // The slow rank has become as fast as the others.
  add_steps(balancer, 64, {10ms, 10ms, 10ms});
  CHECK(balancer.assign(172) == Counts{4, 4, 4});
}

TEST_CASE("passes of a new slice assignment do not overlap with those of the previous one") {
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{4, 2}, .by_speed = true}, 0};
  const auto before = balancer.slice_assignment();
  add_steps(balancer, 8, {10ms, 90ms});
  REQUIRE(balancer.assign(8));
  CHECK(balancer.slice_assignment().pass_of(8) > before.pass_of(1000));
  CHECK(balancer.slice_assignment().step_of(balancer.slice_assignment().pass_of(8)) == 8);
}

TEST_CASE("a gain of less than 5% does not cause a new assignment") {
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{100, 2}, .by_speed = true}, 0};
  add_steps(balancer, 8, {100ms, 104ms});
  CHECK_FALSE(balancer.assign(8));
  add_steps(balancer, 64, {100ms, 130ms});
  CHECK(balancer.assign(72));
}

TEST_CASE("a rank that is too slow for any slice is tried again") {
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{4, 2}, .by_speed = true}, 0};
  add_steps(balancer, 8, {10ms, 900ms});
  CHECK(balancer.assign(8) == Counts{4, 0});
  CHECK(balancer.next_look(8) == 72);
  add_steps(balancer, 64, {10ms, 900ms});
  CHECK(balancer.assign(72) == Counts{3, 1});
  CHECK(balancer.next_look(72) == 80);
  add_steps(balancer, 8, {10ms, 900ms}); // it is still slow
  CHECK(balancer.assign(80) == Counts{4, 0});
  CHECK(balancer.next_look(80) == 144);
  add_steps(balancer, 64, {10ms, 900ms});
  CHECK(balancer.assign(144) == Counts{3, 1});
  add_steps(balancer, 8, {10ms, 10ms}); // it is fast again
  CHECK(balancer.assign(152) == Counts{2, 2});
}

TEST_CASE("if every rank must have a slice, the slowest one has one") {
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{4, 2}, .by_speed = true, .least = 1},
                         0};
  add_steps(balancer, 8, {10ms, 900ms});
  CHECK(balancer.assign(8) == Counts{3, 1});
}

TEST_CASE("a recorded slice assignment is replayed, unless it has another number of ranks") {
  const std::map<std::int64_t, Counts> recorded = {{0, {2, 2}}, {5, {3, 1}}, {9, {4}}};
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{4, 2}, .recorded = recorded}, 3};
  CHECK_FALSE(balancer.assign(3));
  CHECK(balancer.next_look(3) == 5);
  CHECK(balancer.assign(5) == Counts{3, 1});
  CHECK(balancer.next_look(5) == 9);
  CHECK_FALSE(balancer.assign(9));
  CHECK_FALSE(balancer.next_look(9));
}
