// Tests the division of pixels into slices.
#include "core/random.hpp"
#include "cpu/onednn/detail/pixel_slices.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <vector>

using namespace troupe;
using namespace troupe::cpu;

namespace {

constexpr std::size_t images = 4;

Shape square_images(std::int64_t width, std::int64_t channels) {
  return {std::int64_t{images}, width, width, channels};
}

std::vector<float> normal_values(std::size_t count) {
  CounterRng random{3, 1};
  std::vector<float> values(count);
  for (auto& value : values)
    value = 5 + random.normal();
  return values;
}

/// Finishes the sums and returns the moments of all channels.
std::vector<double> moments(ColumnSums& sums, std::size_t channels) {
  sums.finish();
  std::vector<double> all;
  all.reserve(2 * channels);
  for (std::size_t c = 0; c < channels; ++c) {
    const auto [mean, variance] = sums.moments(c);
    all.push_back(mean);
    all.push_back(variance);
  }
  return all;
}

} // namespace

TEST_CASE("slices cover all pixels once, in order for each worker") {
  const int threads = GENERATE(1, 2, 3, 4);
  const std::int64_t width = GENERATE(1, 7, 14, 29);
  const bool whole_images = GENERATE(false, true);
  CAPTURE(threads, width, whole_images);
  const ThreadScope scope{threads};
  const auto pixels = static_cast<std::size_t>(width * width);
  const PixelSlices slices{
      images, pixels, Columns{square_images(width, 24)}, whole_images ? pixels : 1, 1, threads};
  std::vector<int> covered(images * pixels);
  std::vector<std::size_t> last(slices.workers());
  std::vector<int> in_order(slices.workers(), 1), whole(slices.workers(), 1);
  slices.for_each([&](std::size_t begin, std::size_t end, std::size_t worker) {
    in_order[worker] &= begin >= last[worker] && begin < end;
    whole[worker] &= begin % pixels == 0 && end % pixels == 0;
    last[worker] = end;
    for (std::size_t i = begin; i < end; ++i)
      ++covered[i];
  });
  CHECK(covered == std::vector<int>(images * pixels, 1));
  CHECK(in_order == std::vector<int>(slices.workers(), 1));
  CHECK((!whole_images || whole == std::vector<int>(slices.workers(), 1)));
  CHECK(slices.even() == (images % static_cast<std::size_t>(threads) == 0));
}

TEST_CASE("sums over slices have the bits of sums over whole images") {
  const int threads = GENERATE(1, 2, 4);
  const std::int64_t width = GENERATE(7, 14, 28, 29), channels = GENERATE(3, 8, 24, 64, 130, 520);
  CAPTURE(threads, width, channels);
  const ThreadScope scope{threads};
  const Columns columns{square_images(width, channels)};
  const auto x = normal_values(columns.elements());
  ColumnSums by_slices, by_images;
  const PixelSlices slices{images, static_cast<std::size_t>(width * width), columns, 1, 1, threads};
  by_slices.begin(columns, slices.workers());
  slices.for_each([&](std::size_t begin, std::size_t end, std::size_t worker) {
    by_slices.add(worker, x.data() + begin * columns.channels(),
                  (end - begin) * columns.channels());
  });
  by_images.begin(columns, columns.shares(threads));
  columns.for_shares(threads, [&](std::size_t share, std::size_t begin, std::size_t end) {
    by_images.add(share, x.data() + begin, end - begin);
  });
  CHECK(moments(by_slices, columns.channels()) == moments(by_images, columns.channels()));
}
