#include "troupe/cpu/best_product.hpp"
#include "troupe/cpu/engines.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::cpu;

TEST_CASE("the best product is more than any loop, and no more than a core can begin") {
  // A core begins at most 256 operations in a cycle, of which there are at most 6 in a nanosecond,
  // and 16 times as many where it has tiles for bf16.
  constexpr double least = 1e9, most = 6e9 * 256, most_of_tiles = 16 * most;
  const auto f32 = best_product(DType::f32, 1);
  REQUIRE(f32);
  CHECK(*f32 > least);
  CHECK(*f32 < most);
  const auto type = arithmetic_type(DType::bf16);
  const auto narrow = best_product(type, 2);
  REQUIRE(narrow);
  CHECK(*narrow > least);
  CHECK(*narrow < 2 * (type == DType::bf16 ? most_of_tiles : most));
}
