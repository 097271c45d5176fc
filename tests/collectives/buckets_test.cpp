#include "troupe/collectives/buckets.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>

using namespace troupe;
using troupe::collectives::plan_buckets;

namespace {

void check_partition(std::span<const std::size_t> units,
                     const std::vector<collectives::Bucket>& buckets) {
  auto next_unit = static_cast<UnitId>(units.size()) - 1;
  std::size_t total = 0;
  for (const auto elements : units)
    total += elements;
  std::size_t end = total;
  for (const auto& bucket : buckets) {
    CHECK(bucket.last == next_unit);
    CHECK(bucket.offset + bucket.elements == end);
    next_unit = bucket.first - 1;
    end = bucket.offset;
  }
  CHECK(next_unit == -1);
  CHECK(end == 0);
}

} // namespace

TEST_CASE("buckets follow backward from the last unit and close when they are full") {
  const std::array<std::size_t, 5> units = {10, 20, 30, 40, 50};
  const auto buckets = plan_buckets(units, 60 * sizeof(float));
  check_partition(units, buckets);
  REQUIRE(buckets.size() == 2);
  CHECK((buckets[0].first == 3 && buckets[0].elements == 90));
  CHECK((buckets[1].first == 0 && buckets[1].elements == 60));
}

TEST_CASE("one large bucket holds everything, a tiny one each unit") {
  const std::array<std::size_t, 3> units = {1, 2, 3};
  check_partition(units, plan_buckets(units, 1u << 20));
  CHECK(plan_buckets(units, 1u << 20).size() == 1);
  check_partition(units, plan_buckets(units, 1));
  CHECK(plan_buckets(units, 1).size() == 3);
}

TEST_CASE("units without parameters join a neighbour") {
  const std::array<std::size_t, 4> units = {0, 5, 0, 7};
  const auto buckets = plan_buckets(units, 1);
  check_partition(units, buckets);
  for (const auto& bucket : buckets)
    CHECK(bucket.elements > 0);
  const std::array<std::size_t, 1> none = {0};
  check_partition(none, plan_buckets(none, 1));
}
