// Tests sums of gradients that arrive in any order, with compensation of stale ones.
#include "cpu/host_device.hpp"
#include "training/strategies/async/step_sum.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>

using namespace troupe;
using namespace troupe::training;

namespace {

/// One rank of two: its shard of two buckets.
struct Shard {
  std::shared_ptr<Device> device = cpu::make_host_device(0, 1);
  std::unique_ptr<Stream> stream = device->create_stream({});
  FlatPlan plan = plan_flat(wrap_by_size(std::vector<std::size_t>{40, 24}, 1),
                            std::vector<std::size_t>{40, 24}, 2);

  collectives::MessagePtr message(int slice, std::size_t bucket, Version read, float value) const {
    auto message =
        Gradients{.step = 5, .slice = slice, .bucket = bucket, .read = read}.to_message();
    const auto elements = plan.shard_elements(plan.buckets[bucket]);
    message.bytes = elements * sizeof(float);
    message.values = *device->allocate(message.bytes, MemoryKind::communication);
    std::fill_n(message.values->floats(), elements, value);
    return std::make_shared<const collectives::Message>(std::move(message));
  }
  StepSum sum(StepSumOptions options) const {
    options.absent = {false, false};
    return *StepSum::create(*device, plan, options);
  }
  std::vector<float> result(StepSum& sum, Version applied = 5, const Compensation& with = {}) {
    std::vector<float> values(plan.shard_elements());
    sum.copy_to(*stream, values.data(), applied, with);
    REQUIRE(stream->synchronize());
    return values;
  }
};

} // namespace

TEST_CASE("slices are summed in their order on request, whichever arrives first") {
  Shard shard;
  auto sum = shard.sum({.slices = 3, .in_order = true});
  // (1e8 - 1e8) + 1 is 1; in another order the 1 is lost.
  const float values[] = {1e8f, -1e8f, 1};
  for (const int slice : {2, 0, 1})
    for (const std::size_t bucket : {1u, 0u}) {
      CHECK_FALSE(sum.is_whole());
      CHECK_FALSE(sum.has(bucket, slice));
      sum.add(*shard.stream, shard.message(slice, bucket, 5, values[slice]), 1, {});
      CHECK(sum.has(bucket, slice)); // also while it waits for its turn
    }
  CHECK(sum.is_whole());
  for (const float value : shard.result(sum))
    CHECK(value == 1);
  sum.begin();
  CHECK_FALSE(sum.is_whole());
  CHECK_FALSE(sum.has(0, 0));
}

TEST_CASE("each gradient is weighted by its factor") {
  Shard shard;
  auto sum = shard.sum({.slices = 2});
  for (const std::size_t bucket : {0u, 1u}) {
    sum.add(*shard.stream, shard.message(1, bucket, 3, 8), 0.5f, {});
    sum.add(*shard.stream, shard.message(0, bucket, 1, 8), 0.25f, {});
  }
  for (const float value : shard.result(sum))
    CHECK(value == 6);
}

TEST_CASE("late gradients are compensated to first order") {
  Shard shard;
  auto sum = shard.sum({.slices = 2, .compensates = true});
  std::map<Version, std::vector<float>> versions;
  for (const Version version : {3, 4, 5})
    for (std::size_t i = 0; i < shard.plan.shard_elements(); ++i)
      versions[version].push_back(0.5f * static_cast<float>(version) + static_cast<float>(i) / 64);
  const Compensation compensation{
      0.1f, [&](Version version) -> const float* { return versions.at(version).data(); }};
  for (const std::size_t bucket : {0u, 1u}) {
    sum.add(*shard.stream, shard.message(0, bucket, 3, 2), 1, compensation);
    sum.add(*shard.stream, shard.message(1, bucket, 4, -3), 1, compensation);
  }
  // g + 0.1 * g * g * (w5 - w of its version), where versions differ by 0.5 each.
  const double expected = (2 + 0.1 * 4 * 1) + (-3 + 0.1 * 9 * 0.5);
  for (const float value : shard.result(sum, 5, compensation))
    CHECK(value == Catch::Approx(expected).margin(1e-5));
}
