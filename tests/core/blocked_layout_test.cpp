#include "core/device/blocked_layout.hpp"

#include <catch2/catch_test_macros.hpp>

#include <numeric>
#include <vector>

using namespace troupe;

namespace {

std::vector<float> counted(std::size_t elements) {
  std::vector<float> values(elements);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

} // namespace

TEST_CASE("strides determine where elements are, and padding is zero") {
  // (2, 3, 1, 2) as output, row, column, input, which is padded to 4: CUDA's filters.
  const BlockedLayout layout{.strides = {8, 1, 8, 4}, .inner = {}};
  const Shape shape{2, 3, 1, 2};
  REQUIRE(layout.fits(shape, 16));
  std::vector<float> stored(16, -1), back(12);
  layout.encode(shape, counted(12), stored);
  CHECK(stored == std::vector<float>{1, 3, 5, 0, 2, 4, 6, 0, 7, 9, 11, 0, 8, 10, 12, 0});
  layout.decode(shape, stored, back);
  CHECK(back == counted(12));
}

TEST_CASE("blocks are contiguous, the last one innermost") {
  // Io2i2o of a 4x3 matrix: blocks of 2 outputs by 2 inputs, the second dimension padded to 4.
  const BlockedLayout layout{.strides = {8, 4}, .inner = {{1, 2}, {0, 2}}};
  const Shape shape{4, 3};
  REQUIRE(layout.fits(shape, 16));
  std::vector<float> stored(16), back(12);
  layout.encode(shape, counted(12), stored);
  CHECK(stored == std::vector<float>{1, 4, 2, 5, 3, 6, 0, 0, 7, 10, 8, 11, 9, 12, 0, 0});
  layout.decode(shape, stored, back);
  CHECK(back == counted(12));
}

TEST_CASE("a dimension may be blocked twice") {
  // 4o then 2i then 2o: outputs in blocks of 8; the index in a block is 2 * (outer index) + (inner
  // index).
  const BlockedLayout layout{.strides = {16, 16}, .inner = {{0, 4}, {1, 2}, {0, 2}}};
  const Shape shape{8, 2};
  REQUIRE(layout.fits(shape, 16));
  std::vector<float> stored(16), back(16);
  layout.encode(shape, counted(16), stored);
  CHECK(stored == std::vector<float>{1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10, 12, 13, 15, 14, 16});
  layout.decode(shape, stored, back);
  CHECK(back == counted(16));
}

TEST_CASE("a layout is converted to text and back") {
  const BlockedLayout plain{.strides = {147, 1, 21, 3}, .inner = {}};
  const BlockedLayout blocked{.strides = {288, 16}, .inner = {{1, 16}, {0, 8}}};
  CHECK(to_string(plain) == "147,1,21,3");
  CHECK(to_string(blocked) == "288,16:1x16,0x8");
  for (const auto& layout : {plain, blocked})
    CHECK(parse_layout(to_string(layout)).value() == layout);
}

TEST_CASE("invalid text for a layout is refused, and a layout that does not fit is detected") {
  for (const auto* text :
       {"", "a", "1,", "1,-2", "1:2", "1:2x0", "1:2x3x4", "1 2", "1:x", "99999999999999999999"})
    CHECK_FALSE(parse_layout(text));
  const Shape shape{4, 4};
  CHECK(BlockedLayout{.strides = {4, 1}, .inner = {}}.fits(shape, 16));
  CHECK_FALSE(BlockedLayout{.strides = {4, 1}, .inner = {}}.fits(shape, 15)); // one element too few
  CHECK_FALSE(BlockedLayout{.strides = {8, 1}, .inner = {}}.fits(shape, 16)); // beyond the end
  CHECK_FALSE(BlockedLayout{.strides = {4}, .inner = {}}.fits(shape, 16));
  CHECK_FALSE(BlockedLayout{.strides = {4, 1}, .inner = {{2, 2}}}.fits(shape, 16));
  CHECK_FALSE(BlockedLayout{.strides = {4, 1}, .inner = {{0, INT64_MAX}}}.fits(shape, 16));
  CHECK_FALSE(BlockedLayout{.strides = {INT64_MAX, 1}, .inner = {}}.fits(shape, 16));
}
