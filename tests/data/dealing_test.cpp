#include "troupe/data/dealing.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <vector>

using namespace troupe::data;

namespace {

/// The slices that a rank computes in a step, in the order of its passes.
std::vector<int> slices_in_step(const Dealing& dealing, int rank, std::int64_t step) {
  std::vector<int> numbers;
  for (int i = 0; i < dealing.passes(); ++i)
    if (const auto slice = dealing.slice(rank, step * dealing.passes() + i))
      numbers.push_back(slice->number);
  return numbers;
}

} // namespace

TEST_CASE("every slice is dealt once, in the order of ranks, and runs differ by one at most") {
  const int slices = GENERATE(1, 2, 3, 4, 7, 12, 64, 1000), world = GENERATE(1, 2, 3, 4, 5, 8, 64);
  const Dealing dealing{slices, world};
  for (const std::int64_t step : {0, 1, 17}) {
    std::vector<int> all;
    for (int rank = 0; rank < world; ++rank) {
      const auto own = slices_in_step(dealing, rank, step);
      CHECK(std::ssize(own) == dealing.slices_of(rank));
      CHECK((std::ssize(own) == slices / world || std::ssize(own) == slices / world + 1));
      all.insert(all.end(), own.begin(), own.end());
    }
    REQUIRE(std::ssize(all) == slices);
    for (int number = 0; number < slices; ++number)
      CHECK(all[static_cast<std::size_t>(number)] == number);
  }
  CHECK(dealing.is_even() == (slices % world == 0));
}

TEST_CASE("a rank with fewer slices than others begins its steps with an empty pass") {
  const Dealing dealing{4, 3};
  CHECK(dealing.passes() == 2);
  CHECK(dealing.turn(0, 6) == -1);
  CHECK(dealing.turn(0, 7) == 0);
  CHECK(dealing.turn(2, 6) == 0);
  CHECK(dealing.turn(2, 7) == 1);
  CHECK_FALSE(dealing.slice(0, 6));
  CHECK(dealing.slice(0, 7) == Slice{0, 4});
  CHECK(dealing.slice(2, 6) == Slice{2, 4});
  CHECK(dealing.slice(2, 7) == Slice{3, 4});
  CHECK(dealing.step_of(7) == 3);
  CHECK_FALSE(dealing.ends_step(6));
  CHECK(dealing.ends_step(7));
}

TEST_CASE("a rank without a slice has empty passes alone") {
  const Dealing dealing{2, 3};
  CHECK(dealing.passes() == 1);
  CHECK(slices_in_step(dealing, 0, 5).empty());
  CHECK(slices_in_step(dealing, 1, 5) == std::vector{0});
  CHECK(slices_in_step(dealing, 2, 5) == std::vector{1});
}
