// Tests sums over the rows of a matrix, by one block to hundreds of blocks
// (gpu/kernels/detail/columns.cuh), through a kernel that returns the sums unchanged.
#include "gpu/kernels/batch_norm.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

namespace {

struct SumsCase {
  DType dtype;
  std::int64_t rows, channels;
  const char* what;
};

/// A thread of a block has four rows, so a block has 512 rows of 8 channels, 256 rows of 3 channels
/// or 64 rows of 256 channels.
const SumsCase cases[] = {
    {DType::f16, 1, 8, "one row"},
    {DType::f16, 32 * 512, 8, "one stripe"},
    {DType::f16, 32 * 512 + 1, 8, "a stripe of one block"},
    {DType::f32, 64 * 512, 8, "two stripes"},
    {DType::bf16, 200'000, 8, "the last stripe partly filled"},
    {DType::f16, 512 * 512 + 77, 8, "as many blocks as there are"},
    {DType::f16, 33 * 256 + 5, 3, "single elements"},
    {DType::f16, 40 * 64 + 3, 256, "two groups of two stripes"},
    {DType::f16, 70, 2048, "sixteen groups"},
};

struct ColumnSums : GpuFixture {
  std::size_t count(const SumsCase& c) const {
    return static_cast<std::size_t>(2 * c.channels + 1);
  }

  /// Returns the sums of each channel, then the sums of squares, then the number of rows.
  std::vector<double> sums_of(const SumsCase& c, const void* x) {
    auto* const sums = static_cast<double*>(room(2 * count(c)));
    stream().enqueue("sums", [&](cudaStream_t raw) {
      launch_batch_norm_rank_sums(raw, {c.dtype, c.rows, c.channels}, x, sums, stream().scratch());
    });
    std::vector<double> values(count(c));
    device().copy(stream(), values.data(), sums, values.size() * sizeof(double));
    REQUIRE(stream().synchronize());
    return values;
  }
};

/// Returns small whole numbers, which all types represent and whose sums are exact in any order.
Floats whole_numbers(std::int64_t elements) {
  auto values = normal_values(static_cast<std::size_t>(elements), 1);
  for (auto& value : values)
    value = std::round(value);
  return values;
}

std::vector<double> true_sums(const SumsCase& c, const Floats& x) {
  const auto channels = static_cast<std::size_t>(c.channels);
  std::vector<double> sums(2 * channels + 1);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto value = static_cast<double>(x[i]);
    sums[i % channels] += value;
    sums[channels + i % channels] += value * value;
  }
  sums.back() = static_cast<double>(c.rows);
  return sums;
}

} // namespace

TEST_CASE_METHOD(ColumnSums, "sums over rows are exact if each addition is") {
  for (const auto& c : cases) {
    INFO(c.what);
    const auto x = whole_numbers(c.rows * c.channels);
    CHECK(sums_of(c, upload(x, c.dtype)) == true_sums(c, x));
  }
}

TEST_CASE_METHOD(ColumnSums, "sums over rows have the same bits, whichever block finishes last") {
  for (const auto& c : cases) {
    INFO(c.what);
    const auto elements = static_cast<std::size_t>(c.rows * c.channels);
    const auto* const x = upload(normal_values(elements, 2, c.dtype), c.dtype);
    const auto first = sums_of(c, x);
    for (int i = 0; i < 3; ++i)
      CHECK(sums_of(c, x) == first);
  }
}
