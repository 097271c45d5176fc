#include "data/sampler.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

using namespace troupe;
using namespace troupe::data;
using Catch::Matchers::ContainsSubstring;

namespace {

using Indices = std::vector<std::int64_t>;

DistributedSampler make(const SamplerOptions& options) {
  auto sampler = DistributedSampler::create(options);
  REQUIRE(sampler);
  return *sampler;
}

Indices slice_of(const DistributedSampler& sampler, Position at, const Slice& slice) {
  const auto size = sampler.slice_size(slice), room = sampler.largest_slice(slice);
  REQUIRE(size);
  Indices indices(static_cast<std::size_t>(*room));
  REQUIRE(sampler.indices(at, slice, indices));
  const auto end = indices.begin() + *size;
  REQUIRE(std::all_of(end, indices.end(), [](auto index) { return index == -1; }));
  return {indices.begin(), end};
}

/// Returns the slices of a step, one after the other.
Indices step_of(const DistributedSampler& sampler, Position at, int slices) {
  Indices all;
  for (int number = 0; number < slices; ++number) {
    const auto part = slice_of(sampler, at, {number, slices});
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Indices epoch_of(const DistributedSampler& sampler, std::int64_t epoch) {
  Indices all;
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    const auto part = step_of(sampler, {epoch, step}, 1);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Indices counting(std::int64_t count) {
  Indices all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

} // namespace

TEST_CASE("an epoch contains every sample once if the batches divide it evenly") {
  const auto sampler = make({.size = 120, .global_batch = 24, .seed = 5});
  CHECK(sampler.steps_per_epoch() == 5);
  auto order = epoch_of(sampler, 0);
  CHECK(order != counting(120));
  std::sort(order.begin(), order.end());
  CHECK(order == counting(120));
}

TEST_CASE("the order of samples is independent of the number of slices") {
  const auto sampler = make({.size = 1000, .global_batch = 24, .seed = 5});
  for (const Position at : {Position{0, 0}, Position{0, 40}, Position{3, 17}}) {
    const auto alone = step_of(sampler, at, 1);
    for (const int slices : {2, 3, 4, 12, 24})
      CHECK(step_of(sampler, at, slices) == alone);
    // Slices whose sizes differ by one sample.
    for (const int slices : {5, 7, 9, 23})
      CHECK(step_of(sampler, at, slices) == alone);
  }
}

TEST_CASE("slices never share a sample within an epoch") {
  const auto sampler = make({.size = 103, .global_batch = 12, .seed = 9});
  Indices seen;
  for (std::int64_t step = 0; step < sampler.steps_per_epoch(); ++step)
    for (int number = 0; number < 4; ++number) {
      const auto part = slice_of(sampler, {1, step}, {number, 4});
      seen.insert(seen.end(), part.begin(), part.end());
    }
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
  CHECK(seen.size() == 96); // 103 samples, without the last 7
}

TEST_CASE("every epoch and every seed has its own reproducible order") {
  const auto sampler = make({.size = 64, .global_batch = 8, .seed = 1});
  const auto other_seed = make({.size = 64, .global_batch = 8, .seed = 2});
  const auto again = make({.size = 64, .global_batch = 8, .seed = 1});
  CHECK(epoch_of(sampler, 0) != epoch_of(sampler, 1));
  CHECK(epoch_of(sampler, 0) != epoch_of(other_seed, 0));
  CHECK(epoch_of(sampler, 7) == epoch_of(again, 7));
}

TEST_CASE("without shuffling the order is the data set's") {
  const auto sampler = make({.size = 20, .global_batch = 5, .shuffle = false});
  CHECK(epoch_of(sampler, 0) == counting(20));
  CHECK(epoch_of(sampler, 3) == counting(20));
}

// torch.utils.data.DistributedSampler: indices += indices[:padding], or whole repetitions of them.
TEST_CASE("padding repeats the first samples of the epoch, as PyTorch does") {
  const SamplerOptions options{
      .size = 10, .global_batch = 4, .seed = 3, .last_batch = LastBatch::pad_with_first};
  const auto sampler = make(options);
  REQUIRE(sampler.steps_per_epoch() == 3);
  const auto order = epoch_of(sampler, 2);
  REQUIRE(order.size() == 12);
  CHECK(order[10] == order[0]);
  CHECK(order[11] == order[1]);
  Indices once(order.begin(), order.begin() + 10);
  std::sort(once.begin(), once.end());
  CHECK(once == counting(10));

  SECTION("more than once if a batch is larger than the data set") {
    auto large = options;
    large.size = 3;
    large.global_batch = 8;
    const auto repeated = epoch_of(make(large), 0);
    for (std::size_t i = 3; i < 8; ++i)
      CHECK(repeated[i] == repeated[i % 3]);
  }
}

TEST_CASE("evaluation covers every sample once, in order, and pads with empty samples") {
  const auto sampler = make(evaluation_sampler(10, 2, 3));
  REQUIRE(sampler.steps_per_epoch() == 2);
  CHECK(step_of(sampler, {0, 1}, 3) == Indices{6, 7, 8, 9, -1, -1});
  CHECK(slice_of(sampler, {0, 1}, {2, 3}) == Indices{-1, -1});
  CHECK(sampler.samples({0, 0}, {2, 3}) == 2);
  CHECK(sampler.samples({0, 1}, {1, 3}) == 2);
  CHECK(sampler.samples({0, 1}, {2, 3}) == 0);
}

TEST_CASE("evaluation of fewer samples takes them evenly spaced from the whole set") {
  const auto sampler = make(evaluation_sampler(10, 2, 1, 4));
  REQUIRE(sampler.steps_per_epoch() == 2);
  CHECK(step_of(sampler, {0, 0}, 1) == Indices{0, 2});
  CHECK(step_of(sampler, {0, 1}, 1) == Indices{5, 7});
  const auto all = make(evaluation_sampler(10, 10, 1, 99));
  CHECK(step_of(all, {0, 0}, 1) == Indices{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("a run that resumes within an epoch continues the undisturbed sequence") {
  const auto options = SamplerOptions{.size = 50, .global_batch = 8, .seed = 11};
  const auto undisturbed = make(options);
  std::vector<Indices> all;
  for (std::int64_t step = 0; step < 20; ++step)
    all.push_back(step_of(undisturbed, undisturbed.position(step), 2));
  const auto resumed = make(options); // its only input is the number of completed steps
  for (std::int64_t step = 9; step < 20; ++step)
    CHECK(step_of(resumed, resumed.position(step), 8) == all[static_cast<std::size_t>(step)]);
  CHECK(resumed.position(0) == Position{0, 0});
  CHECK(resumed.position(6) == Position{1, 0});
  CHECK(resumed.position(19) == Position{3, 1});
}

TEST_CASE("slices differ by one sample at most, and the first ones are longer") {
  const auto sampler = make({.size = 1000, .global_batch = 130});
  std::vector<std::int64_t> sizes;
  for (int number = 0; number < 6; ++number)
    sizes.push_back(*sampler.slice_size({number, 6}));
  CHECK(sizes == std::vector<std::int64_t>{22, 22, 22, 22, 21, 21});
  CHECK(*sampler.largest_slice({5, 6}) == 22);
}

TEST_CASE("a batch with fewer samples than slices is an error") {
  const auto sampler = make({.size = 100, .global_batch = 5});
  const auto size = sampler.slice_size({0, 6});
  REQUIRE_FALSE(size);
  CHECK(size.error().code == Errc::invalid_input);
  CHECK_THAT(size.error().message, ContainsSubstring("must be 6 or more"));
  CHECK_FALSE(sampler.slice_size({2, 2}));
  CHECK_FALSE(sampler.slice_size({-1, 2}));
  CHECK_FALSE(sampler.slice_size({0, 0}));
}

TEST_CASE("a data set smaller than a batch is an error that names what to change") {
  const auto none = DistributedSampler::create({.size = 100, .global_batch = 128});
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::data);
  CHECK_THAT(none.error().message, ContainsSubstring("100 samples") && ContainsSubstring("128") &&
                                       ContainsSubstring("data.drop_last: false"));
  CHECK(DistributedSampler::create(
      {.size = 100, .global_batch = 128, .last_batch = LastBatch::pad_with_first}));
  CHECK_FALSE(DistributedSampler::create({.size = 0, .global_batch = 1}));
  CHECK_FALSE(DistributedSampler::create({.size = 5, .global_batch = 0}));
}

TEST_CASE("a step outside of the epoch or a buffer of another size is refused") {
  const auto sampler = make({.size = 100, .global_batch = 10});
  Indices indices(10), too_few(9);
  CHECK(sampler.indices({0, 9}, {}, indices));
  CHECK_FALSE(sampler.indices({0, 10}, {}, indices));
  CHECK_FALSE(sampler.indices({0, -1}, {}, indices));
  CHECK_FALSE(sampler.indices({-1, 0}, {}, indices));
  CHECK_FALSE(sampler.indices({0, 0}, {}, too_few));
}
