#include "core/random.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;

// Known answers of Random123's philox4x32-10 (kat_vectors of its distribution).
TEST_CASE("philox matches the published test vectors") {
  CHECK(philox({0, 0, 0, 0}, 0) == PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff) ==
        PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822) ==
        PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a counter generator depends only on its key and stream") {
  CounterRng a{7, 3}, b{7, 3}, c{7, 4};
  int same = 0;
  for (int i = 0; i < 100; ++i) {
    const auto x = a.next();
    CHECK(x == b.next());
    same += x == c.next();
  }
  CHECK(same < 3);
}

TEST_CASE("uniform numbers are below one, and bounded numbers below their bound") {
  CounterRng rng{1, 1};
  double sum = 0, normal_sum = 0, normal_squares = 0;
  constexpr int n = 20000;
  for (int i = 0; i < n; ++i) {
    const float u = rng.uniform();
    REQUIRE((u >= 0.0f && u < 1.0f));
    REQUIRE(rng.below(9) < 9);
    const double z = rng.normal();
    sum += u;
    normal_sum += z;
    normal_squares += z * z;
  }
  CHECK(std::abs(sum / n - 0.5) < 0.01);
  CHECK(std::abs(normal_sum / n) < 0.03);
  CHECK(std::abs(normal_squares / n - 1.0) < 0.04);
}
