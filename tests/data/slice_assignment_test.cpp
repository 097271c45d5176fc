#include "data/slice_assignment.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <vector>

using namespace troupe::data;

namespace {

/// Returns the slices that a rank computes in a step, in the order of its passes.
std::vector<int> slices_in_step(const SliceAssignment& slice_assignment, int rank,
                                std::int64_t step) {
  std::vector<int> numbers;
  for (int i = 0; i < slice_assignment.passes(); ++i)
    if (const auto slice = slice_assignment.slice(rank, step * slice_assignment.passes() + i))
      numbers.push_back(slice->number);
  return numbers;
}

} // namespace

TEST_CASE("every slice is assigned once, in the order of ranks, and counts differ by one at most") {
  const int slices = GENERATE(1, 2, 3, 4, 7, 12, 64, 1000), world = GENERATE(1, 2, 3, 4, 5, 8, 64);
  const SliceAssignment slice_assignment{slices, world};
  for (const std::int64_t step : {0, 1, 17}) {
    std::vector<int> all;
    for (int rank = 0; rank < world; ++rank) {
      const auto own = slices_in_step(slice_assignment, rank, step);
      CHECK(std::ssize(own) == slice_assignment.slices_of(rank));
      CHECK((std::ssize(own) == slices / world || std::ssize(own) == slices / world + 1));
      all.insert(all.end(), own.begin(), own.end());
    }
    REQUIRE(std::ssize(all) == slices);
    for (int number = 0; number < slices; ++number)
      CHECK(all[static_cast<std::size_t>(number)] == number);
  }
  CHECK(slice_assignment.is_even() == (slices % world == 0));
}

TEST_CASE("a rank with fewer slices than others begins its steps with an empty pass") {
  const SliceAssignment slice_assignment{4, 3};
  CHECK(slice_assignment.passes() == 2);
  CHECK(slice_assignment.local_index(0, 6) == -1);
  CHECK(slice_assignment.local_index(0, 7) == 0);
  CHECK(slice_assignment.local_index(2, 6) == 0);
  CHECK(slice_assignment.local_index(2, 7) == 1);
  CHECK_FALSE(slice_assignment.slice(0, 6));
  CHECK(slice_assignment.slice(0, 7) == Slice{0, 4});
  CHECK(slice_assignment.slice(2, 6) == Slice{2, 4});
  CHECK(slice_assignment.slice(2, 7) == Slice{3, 4});
  CHECK(slice_assignment.step_of(7) == 3);
  CHECK_FALSE(slice_assignment.ends_step(6));
  CHECK(slice_assignment.ends_step(7));
}

TEST_CASE("a rank without a slice has only empty passes") {
  const SliceAssignment slice_assignment{2, 3};
  CHECK(slice_assignment.passes() == 1);
  CHECK(slices_in_step(slice_assignment, 0, 5).empty());
  CHECK(slices_in_step(slice_assignment, 1, 5) == std::vector{0});
  CHECK(slices_in_step(slice_assignment, 2, 5) == std::vector{1});
}

TEST_CASE("a slice assignment counts steps and passes from those it begins with") {
  const SliceAssignment next{std::vector{6, 2}, 10, 1000};
  CHECK(next.passes() == 6);
  CHECK(next.first_step() == 10);
  CHECK(next.pass_of(10) == 1000);
  CHECK(next.pass_of(12) == 1012);
  CHECK(next.step_of(1005) == 10);
  CHECK(next.step_of(1006) == 11);
  CHECK(next.begins_step(1006));
  CHECK(next.ends_step(1005));
  CHECK_FALSE(next.slice(1, 1003));
  CHECK(next.slice(1, 1004) == Slice{6, 8});
  CHECK(next.slice(0, 1000) == Slice{0, 8});
  CHECK(next.counts() == std::vector{6, 2});
  CHECK_FALSE(next.is_even());
  CHECK(next.keeps_statistics(0));
  CHECK_FALSE(next.keeps_statistics(1));
}

TEST_CASE("passes of a following slice assignment do not overlap with those of the previous one") {
  const SliceAssignment even{8, 2};
  const auto next = even.followed_by(std::vector{6, 2}, 10);
  CHECK(next.first_step() == 10);
  CHECK(next.counts() == std::vector{6, 2});
  CHECK(next.first_pass() > even.pass_of(10'000));
  CHECK(next.pass_of(10) == next.first_pass());
  CHECK(next.step_of(next.first_pass()) == 10);
}

TEST_CASE("counts with no slice or with less than none are no slice assignment") {
  CHECK(SliceAssignment::can_be_counts(std::vector{0, 1}));
  for (const auto& counts : std::vector<std::vector<int>>{{}, {0, 0}, {3, -1}})
    CHECK_FALSE(SliceAssignment::can_be_counts(counts));
}
