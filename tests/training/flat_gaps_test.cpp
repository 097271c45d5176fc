#include "training/state/flat_range.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::training;

namespace {

Slot slot(UnitId unit, std::size_t offset, std::size_t elements) {
  return {
      .name = "x", .shape = {}, .unit = unit, .offset = offset, .elements = elements, .codec = {}};
}

} // namespace

TEST_CASE("gaps are between parameters and after the last one of a unit") {
  StorageLayout layout;
  layout.parameters = {slot(0, 0, 10), slot(0, 16, 16), slot(1, 4, 12)};
  layout.unit_elements = {48, 16};
  const auto plan = plan_flat(wrap_by_size(layout.unit_elements, 1), layout.unit_elements, 1);
  const auto unit0 = plan.unit_offsets[0], unit1 = plan.unit_offsets[1];
  const auto gaps = flat_gaps(layout, plan);
  CHECK(gaps.size() == 3);
  for (const FlatRange expected : {FlatRange{unit0 + 10, 6}, {unit0 + 32, 16}, {unit1, 4}})
    CHECK(std::ranges::count(gaps, expected) == 1);
}

TEST_CASE("a shard has the gaps in its range, with offsets from its start") {
  const std::vector<FlatRange> gaps = {{10, 6}, {32, 16}};
  CHECK(gaps_within(gaps, {0, 48}) == gaps);
  CHECK(gaps_within(gaps, {12, 24}) == std::vector<FlatRange>{{0, 4}, {20, 4}});
  CHECK(gaps_within(gaps, {16, 16}).empty());
}
