#include "training/flat_plan.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <numeric>

using namespace troupe;
using namespace troupe::training;

namespace {

using Sizes = std::vector<std::size_t>;

/// Checks that every unit is in one bucket, in order, with all of its elements.
void check_partition(const Sizes& units, const FlatPlan& plan) {
  auto next_unit = static_cast<UnitId>(units.size()) - 1;
  std::size_t end = plan.elements;
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const auto& bucket = plan.buckets[i];
    CHECK(bucket.units.last == next_unit);
    CHECK(bucket.offset + bucket.elements == end);
    std::size_t at = bucket.offset;
    for (auto unit = static_cast<std::size_t>(bucket.units.first);
         unit <= static_cast<std::size_t>(bucket.units.last); ++unit) {
      CHECK(plan.unit_offsets[unit] == at);
      CHECK(plan.bucket_of[unit] == i);
      at += units[unit];
    }
    CHECK(at + bucket.padding == end);
    next_unit = bucket.units.first - 1;
    end = bucket.offset;
  }
  CHECK(next_unit == -1);
  CHECK(end == 0);
}

FlatPlan by_size(const Sizes& units, std::size_t bytes, std::size_t shards = 1) {
  return plan_flat(wrap_by_size(units, bytes), units, shards);
}

} // namespace

TEST_CASE("buckets follow backward from the last unit and close when they are full") {
  const Sizes units = {10, 20, 30, 40, 50};
  const auto plan = by_size(units, 60 * sizeof(float));
  check_partition(units, plan);
  REQUIRE(plan.buckets.size() == 2);
  CHECK((plan.buckets[0].units.first == 3 && plan.buckets[0].elements == 90));
  CHECK((plan.buckets[1].units.first == 0 && plan.buckets[1].elements == 60));
  CHECK(plan.elements == 150);
}

TEST_CASE("a large bucket size gives one bucket, a tiny one a bucket for each unit") {
  const Sizes units = {1, 2, 3};
  check_partition(units, by_size(units, 1u << 20));
  CHECK(by_size(units, 1u << 20).buckets.size() == 1);
  check_partition(units, by_size(units, 1));
  CHECK(by_size(units, 1).buckets.size() == 3);
}

TEST_CASE("units without parameters are added to a neighbour's bucket") {
  const Sizes units = {0, 5, 0, 7};
  const std::vector<std::string> unit_names = {"a", "b", "c", "d"}, names = {"b"};
  for (const auto& plan :
       {by_size(units, 1), plan_flat(wrap_by_name(units, unit_names, names), units, 1)}) {
    check_partition(units, plan);
    for (const auto& bucket : plan.buckets)
      CHECK(bucket.elements > 0);
  }
  check_partition({0}, by_size({0}, 1));
}

TEST_CASE("names wrap the units below them and the units between them") {
  const Sizes units = {1, 2, 3, 4, 5, 6};
  const std::vector<std::string> unit_names = {"stem",     "layer1.0", "layer1.1",
                                               "layer2.0", "layer10",  "head"};
  const std::vector<std::string> names = {"layer1", "layer2.0"};
  const auto ranges = wrap_by_name(units, unit_names, names);
  CHECK(ranges == std::vector<UnitRange>{{4, 5}, {3, 3}, {1, 2}, {0, 0}});
  check_partition(units, plan_flat(ranges, units, 1));
}

TEST_CASE("shards have equal size and alignment and cover everything") {
  const Sizes units = {100, 1, 0, 4097, 640};
  const std::size_t shards = GENERATE(std::size_t{2}, std::size_t{3}, std::size_t{8});
  const auto plan = by_size(units, 600 * sizeof(float), shards);
  check_partition(units, plan);
  std::size_t sum = 0;
  for (const auto& bucket : plan.buckets) {
    CHECK(plan.shard_elements(bucket) * shards == bucket.elements);
    CHECK(plan.shard_elements(bucket) % 16 == 0);
    CHECK(bucket.padding < shards * 16);
    CHECK(plan.shard_offset(bucket) % 16 == 0);
    CHECK(plan.shard_offset(bucket) + plan.shard_elements(bucket) <= plan.shard_elements());
    sum += plan.shard_elements(bucket);
  }
  CHECK(sum == plan.shard_elements());
}

TEST_CASE("adjacent buckets in a window never share memory") {
  const Sizes units = {80, 48, 64, 80, 512, 16, 256, 32};
  const std::size_t alive =
      GENERATE(std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{8}, std::size_t{9});
  const auto plan = by_size(units, 1);
  const auto window = plan_window(plan.buckets, alive);
  const auto& buckets = plan.buckets;
  std::size_t most = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    CHECK(window.offsets[i] + buckets[i].elements <= window.elements);
    std::size_t together = 0;
    for (std::size_t j = i; j < std::min(buckets.size(), i + alive); ++j) {
      together += buckets[j].elements;
      if (i != j)
        CHECK((window.offsets[i] + buckets[i].elements <= window.offsets[j] ||
               window.offsets[j] + buckets[j].elements <= window.offsets[i]));
    }
    most = std::max(most, together);
  }
  CHECK(window.elements >= most);
  if (alive <= 2 || alive >= units.size())
    CHECK(window.elements == most); // no memory is wasted
}
