#include "data/detail/permutation.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <vector>

using troupe::data::Permutation;

namespace {

std::vector<std::int64_t> values(std::int64_t size, std::uint64_t key) {
  const Permutation permutation{size, key};
  std::vector<std::int64_t> result;
  for (std::int64_t place = 0; place < size; ++place)
    result.push_back(permutation(place));
  return result;
}

} // namespace

TEST_CASE("a permutation of any size contains every value once") {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 16, 17, 99, 100, 101, 1023, 50000, 60000})
    for (const std::uint64_t key : {0, 1, 77}) {
      std::vector<int> seen(static_cast<std::size_t>(size));
      for (const auto value : values(size, key)) {
        REQUIRE((value >= 0 && value < size));
        ++seen[static_cast<std::size_t>(value)];
      }
      CHECK(seen == std::vector<int>(static_cast<std::size_t>(size), 1));
    }
}

TEST_CASE("different keys give unrelated permutations") {
  const auto a = values(10000, 1), b = values(10000, 2);
  int same = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    same += a[i] == b[i];
  CHECK(same < 10); // one match is expected
}

TEST_CASE("over many keys, every value is equally frequent at every index") {
  constexpr int size = 8, keys = 16000;
  int counts[size][size] = {};
  for (std::uint64_t key = 0; key < keys; ++key) {
    const auto order = values(size, key);
    for (int place = 0; place < size; ++place)
      ++counts[place][order[static_cast<std::size_t>(place)]];
  }
  double chi_squared = 0;
  const double expected = double{keys} / size;
  for (const auto& row : counts)
    for (const int count : row)
      chi_squared += (count - expected) * (count - expected) / expected;
  CHECK(chi_squared < 85.4); // 49 degrees of freedom: 85.4 is exceeded once in a thousand
}

TEST_CASE("over many keys, every order of four values is equally frequent") {
  constexpr int keys = 24000;
  std::vector<int> counts(256);
  for (std::uint64_t key = 0; key < keys; ++key) {
    const auto order = values(4, key);
    ++counts[static_cast<std::size_t>(order[0] * 64 + order[1] * 16 + order[2] * 4 + order[3])];
  }
  double chi_squared = 0;
  int orders = 0;
  for (const int count : counts)
    if (count != 0) {
      ++orders;
      chi_squared += (count - keys / 24.0) * (count - keys / 24.0) / (keys / 24.0);
    }
  CHECK(orders == 24);
  CHECK(chi_squared < 49.7); // 23 degrees of freedom: exceeded once in a thousand
}

TEST_CASE("adjacent indices map to uncorrelated values") {
  constexpr std::int64_t size = 50000;
  const auto order = values(size, 3);
  double product = 0;
  const double mean = (size - 1) / 2.0, variance = (double{size} * size - 1) / 12;
  for (std::size_t i = 1; i < order.size(); ++i)
    product += (static_cast<double>(order[i - 1]) - mean) * (static_cast<double>(order[i]) - mean);
  CHECK(std::abs(product / variance / size) < 4.0 / 223.6); // four standard errors: 1/sqrt(size)
}
