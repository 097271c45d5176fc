#include "core/config/config.hpp"
#include "training/strategies/diloco/fragments.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <numeric>

using namespace troupe;
using namespace troupe::training;

namespace {

Strategy in_rounds(std::int64_t steps, int fragments) {
  return {.rounds = {.steps = steps}, .diloco = {.fragments = fragments}};
}

/// Returns the steps below 12 after which a round of the fragment ends.
std::vector<int> ends(const Strategy& strategy, int fragment) {
  std::vector<int> steps;
  for (int step = 0; step < 12; ++step)
    if (ends_round(strategy, fragment, step))
      steps.push_back(step);
  return steps;
}

} // namespace

TEST_CASE("fragments have similar numbers of parameters, and none is empty") {
  const std::vector<std::size_t> even = {1, 1, 1, 1, 1, 1};
  CHECK(fragments_of(even, 1) == std::vector<UnitRange>{{0, 5}});
  CHECK(fragments_of(even, 3) == std::vector<UnitRange>{{0, 1}, {2, 3}, {4, 5}});
  const std::vector<std::size_t> large_end = {1, 1, 1, 9}, large_front = {9, 1, 1, 1};
  CHECK(fragments_of(large_end, 2) == std::vector<UnitRange>{{0, 2}, {3, 3}});
  CHECK(fragments_of(large_front, 3) == std::vector<UnitRange>{{0, 0}, {1, 1}, {2, 3}});
  CHECK(fragments_of(large_end, 4) == std::vector<UnitRange>{{0, 0}, {1, 1}, {2, 2}, {3, 3}});
}

TEST_CASE("units without parameters do not become a fragment") {
  const std::vector<std::size_t> units = {0, 4, 0, 0, 4, 0};
  CHECK(fragments_of(units, 2) == std::vector<UnitRange>{{0, 3}, {4, 5}});
  CHECK(fragments_of(units, 5) == fragments_of(units, 2));
  CHECK(fragments_of(std::vector<std::size_t>{0, 0}, 3) == std::vector<UnitRange>{{0, 1}});
}

TEST_CASE("units are split into the requested number of fragments, in order and without gaps") {
  for (int seed = 1; seed < 200; ++seed) {
    std::vector<std::size_t> units(static_cast<std::size_t>(3 + seed % 9));
    for (int i = 0; i < std::ssize(units); ++i)
      units[static_cast<std::size_t>(i)] =
          static_cast<std::size_t>(seed * (i + 1) * 7919 % 5 * (seed % 3 + i));
    const auto full = std::ranges::count_if(units, [](auto elements) { return elements > 0; });
    for (int wanted = 1; wanted <= full; ++wanted) {
      CAPTURE(units, wanted);
      const auto found = fragments_of(units, wanted);
      CHECK(std::ssize(found) == wanted);
      UnitId next = 0;
      for (const auto& [first, last] : found) {
        CHECK(first == next);
        next = last + 1;
        CHECK(std::accumulate(units.begin() + first, units.begin() + next, std::size_t{0}) > 0);
      }
      CHECK(next == std::ssize(units));
    }
  }
}

TEST_CASE("buckets end where a fragment begins, and none is empty") {
  const std::vector<std::size_t> units = {3, 0, 3, 3, 0, 3};
  const auto fragments = fragments_of(units, 2);
  CHECK(fragments == std::vector<UnitRange>{{0, 2}, {3, 5}});
  const std::vector<UnitRange> one = {{0, 5}}, cut = {{3, 5}, {0, 2}},
                               front = {{4, 5}, {1, 3}, {0, 0}};
  CHECK(cut_at(one, fragments, units) == cut);
  CHECK(cut_at(cut, fragments, units) == cut);
  CHECK(cut_at(front, fragments, units) == std::vector<UnitRange>{{4, 5}, {3, 3}, {1, 2}, {0, 0}});
  const std::vector<std::size_t> gap = {3, 0, 0, 3};
  CHECK(cut_at(std::vector<UnitRange>{{1, 3}, {0, 0}}, fragments_of(gap, 2), gap) ==
        std::vector<UnitRange>{{1, 3}, {0, 0}});
}

TEST_CASE("rounds of fragments end one after the other, the last at multiples of the steps") {
  CHECK(ends(in_rounds(4, 1), 0) == std::vector<int>{3, 7, 11});
  CHECK(ends(in_rounds(4, 2), 0) == std::vector<int>{1, 5, 9});
  CHECK(ends(in_rounds(4, 2), 1) == std::vector<int>{3, 7, 11});
  CHECK(ends(in_rounds(1, 3), 0).size() == 12);
  CHECK(ends(in_rounds(2, 3), 0) ==
        std::vector<int>{1, 3, 5, 7, 9, 11}); // more fragments than steps
  for (int fragment = 0; fragment < 3; ++fragment)
    for (std::int64_t step = 0; step < 20; ++step) {
      const auto strategy = in_rounds(5, 3);
      const auto next = next_round(strategy, fragment, step);
      CHECK((next >= step && next < step + 5 && ends_round(strategy, fragment, next)));
    }
}
