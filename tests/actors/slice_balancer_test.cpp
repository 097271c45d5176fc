// When slices are dealt anew, and to whom.
#include "actors/roles/detail/slice_balancer.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace std::chrono_literals;
using troupe::actors::SliceBalancer;
using troupe::data::SliceAssignment;

namespace {

using Counts = std::vector<int>;

/// So many steps, in which a slice took each rank so long.
void add_steps(SliceBalancer& balancer, int steps,
               const std::vector<std::chrono::milliseconds>& slice) {
  for (int step = 0; step < steps; ++step)
    for (std::size_t i = 0; i < slice.size(); ++i) {
      const auto rank = static_cast<std::int32_t>(i);
      balancer.add(rank, balancer.slice_assignment().slices_of(rank) * slice[i]);
    }
}

} // namespace

TEST_CASE("slices are dealt by speed after eight steps, and then every 64") {
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{12, 3}, .by_speed = true}, 100};
  CHECK(balancer.slice_assignment().counts() == Counts{4, 4, 4});
  CHECK_FALSE(balancer.deal(100));
  CHECK(balancer.next_look(100) == 108);
  add_steps(balancer, 8, {10ms, 25ms, 10ms});
  CHECK(balancer.deal(108) == Counts{5, 2, 5});
  CHECK(balancer.next_look(108) == 172);
  // The slow one has become as fast as the others.
  add_steps(balancer, 64, {10ms, 10ms, 10ms});
  CHECK(balancer.deal(172) == Counts{4, 4, 4});
}

TEST_CASE("passes of a new dealing are none of the one before it") {
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{4, 2}, .by_speed = true}, 0};
  const auto before = balancer.slice_assignment();
  add_steps(balancer, 8, {10ms, 90ms});
  REQUIRE(balancer.deal(8));
  CHECK(balancer.slice_assignment().pass_of(8) > before.pass_of(1000));
  CHECK(balancer.slice_assignment().step_of(balancer.slice_assignment().pass_of(8)) == 8);
}

TEST_CASE("a gain of less than one part in twenty is not worth a pause") {
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{100, 2}, .by_speed = true}, 0};
  add_steps(balancer, 8, {100ms, 104ms});
  CHECK_FALSE(balancer.deal(8));
  add_steps(balancer, 64, {100ms, 130ms});
  CHECK(balancer.deal(72));
}

TEST_CASE("a rank that is so slow that it gets no slice is tried again") {
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{4, 2}, .by_speed = true}, 0};
  add_steps(balancer, 8, {10ms, 900ms});
  CHECK(balancer.deal(8) == Counts{4, 0});
  CHECK(balancer.next_look(8) == 72);
  add_steps(balancer, 64, {10ms, 900ms});
  CHECK(balancer.deal(72) == Counts{3, 1});
  CHECK(balancer.next_look(72) == 80);
  add_steps(balancer, 8, {10ms, 900ms}); // it still is
  CHECK(balancer.deal(80) == Counts{4, 0});
  CHECK(balancer.next_look(80) == 144);
  add_steps(balancer, 64, {10ms, 900ms});
  CHECK(balancer.deal(144) == Counts{3, 1});
  add_steps(balancer, 8, {10ms, 10ms}); // now it is not
  CHECK(balancer.deal(152) == Counts{2, 2});
}

TEST_CASE("where each rank must have a slice, the slowest has one") {
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{4, 2}, .by_speed = true, .least = 1},
                         0};
  add_steps(balancer, 8, {10ms, 900ms});
  CHECK(balancer.deal(8) == Counts{3, 1});
}

TEST_CASE("a dealing that was recorded is repeated, and one of other ranks is not") {
  const std::map<std::int64_t, Counts> recorded = {{0, {2, 2}}, {5, {3, 1}}, {9, {4}}};
  SliceBalancer balancer{{.slice_assignment = SliceAssignment{4, 2}, .recorded = recorded}, 3};
  CHECK_FALSE(balancer.deal(3));
  CHECK(balancer.next_look(3) == 5);
  CHECK(balancer.deal(5) == Counts{3, 1});
  CHECK(balancer.next_look(5) == 9);
  CHECK_FALSE(balancer.deal(9));
  CHECK_FALSE(balancer.next_look(9));
}
