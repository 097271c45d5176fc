// Tests when slices are reassigned, and to which ranks.
#include "data/slice_balancer.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace std::chrono_literals;
using namespace troupe::data;

namespace {

using Counts = std::vector<int>;

/// Adds `steps` steps in which a slice took each rank the given time.
void add_steps(SliceBalancer& balancer, int steps,
               const std::vector<std::chrono::milliseconds>& slice) {
  for (int step = 0; step < steps; ++step)
    for (std::size_t i = 0; i < slice.size(); ++i) {
      const auto rank = static_cast<int>(i);
      balancer.add(rank, balancer.slice_assignment().slices_of(rank) * slice[i]);
    }
}

/// Returns the counts of the assignment from this step on; empty if it stays.
Counts next(SliceBalancer& balancer, std::int64_t step) {
  const auto next = balancer.next(step);
  return next ? next->counts() : Counts{};
}

} // namespace

TEST_CASE("a balancer keeps its assignment unless it is told how to balance") {
  SliceBalancer balancer{SliceAssignment{4, 2}};
  add_steps(balancer, 100, {10ms, 90ms});
  CHECK_FALSE(balancer.reassigns());
  CHECK_FALSE(balancer.next_look(0));
  CHECK_FALSE(balancer.next(100));
}

TEST_CASE("slices are assigned by speed after eight steps, then every 64 steps") {
  auto balancer = SliceBalancer::by_speed({12, 3}, 100);
  CHECK(balancer.slice_assignment().counts() == Counts{4, 4, 4});
  CHECK_FALSE(balancer.next(100));
  CHECK(balancer.next_look(100) == 108);
  add_steps(balancer, 8, {10ms, 25ms, 10ms});
  CHECK(next(balancer, 108) == Counts{5, 2, 5});
  CHECK(balancer.next_look(108) == 172);
  // The slow rank has become as fast as the others.
  add_steps(balancer, 64, {10ms, 10ms, 10ms});
  CHECK(next(balancer, 172) == Counts{4, 4, 4});
}

TEST_CASE("a gain of less than 5% does not cause a new assignment") {
  auto balancer = SliceBalancer::by_speed({100, 2}, 0);
  add_steps(balancer, 8, {100ms, 104ms});
  CHECK_FALSE(balancer.next(8));
  add_steps(balancer, 64, {100ms, 130ms});
  CHECK(balancer.next(72));
}

TEST_CASE("a rank that is too slow for any slice is tried again") {
  auto balancer = SliceBalancer::by_speed({4, 2}, 0);
  add_steps(balancer, 8, {10ms, 900ms});
  CHECK(next(balancer, 8) == Counts{4, 0});
  CHECK(balancer.next_look(8) == 72);
  add_steps(balancer, 64, {10ms, 900ms});
  CHECK(next(balancer, 72) == Counts{3, 1});
  CHECK(balancer.next_look(72) == 80);
  add_steps(balancer, 8, {10ms, 900ms}); // it is still slow
  CHECK(next(balancer, 80) == Counts{4, 0});
  CHECK(balancer.next_look(80) == 144);
  add_steps(balancer, 64, {10ms, 900ms});
  CHECK(next(balancer, 144) == Counts{3, 1});
  add_steps(balancer, 8, {10ms, 10ms}); // it is fast again
  CHECK(next(balancer, 152) == Counts{2, 2});
}

TEST_CASE("if every rank must have a slice, the slowest one has one") {
  auto balancer = SliceBalancer::by_speed({4, 2}, 0, 1);
  add_steps(balancer, 8, {10ms, 900ms});
  CHECK(next(balancer, 8) == Counts{3, 1});
}

TEST_CASE("a recorded slice assignment is replayed, unless it has another number of ranks") {
  auto balancer = SliceBalancer::replay({4, 2}, {SliceAssignment{Counts{2, 2}},
                                                 SliceAssignment{Counts{3, 1}, 5},
                                                 SliceAssignment{Counts{4}, 9}});
  CHECK_FALSE(balancer.next(3));
  CHECK(balancer.next_look(3) == 5);
  CHECK(next(balancer, 5) == Counts{3, 1});
  CHECK(balancer.next_look(5) == 9);
  CHECK_FALSE(balancer.next(9));
  CHECK_FALSE(balancer.next_look(9));
}

TEST_CASE("slices are assigned by speed so that the slowest rank ends as early as possible") {
  CHECK(balanced_by_speed(16, std::vector{1.0, 1.0, 1.0, 4.0}) == std::vector{5, 5, 5, 1});
  CHECK(balanced_by_speed(4, std::vector{1.0, 1.0}) == std::vector{2, 2});
  CHECK(balanced_by_speed(3, std::vector{1.0, 100.0}) == std::vector{3, 0});
  CHECK(balanced_by_speed(1, std::vector{2.0, 1.0, 1.0}) == std::vector{1, 0, 0});
  // No other counts finish earlier.
  const std::vector seconds = {0.7, 1.1, 0.4};
  const auto longest = [&](const std::vector<int>& counts) {
    double most = 0;
    for (std::size_t rank = 0; rank < counts.size(); ++rank)
      most = std::max(most, counts[rank] * seconds[rank]);
    return most;
  };
  double least = 1e9;
  for (int a = 0; a <= 11; ++a)
    for (int b = 0; a + b <= 11; ++b)
      least = std::min(least, longest({a, b, 11 - a - b}));
  CHECK(longest(balanced_by_speed(11, seconds)) == least);
}
