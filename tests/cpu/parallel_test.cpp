#include "troupe/cpu/parallel.hpp"

#include "troupe/cpu/host_stream.hpp"

#include <catch2/catch_test_macros.hpp>
#include <numeric>
#include <vector>

using namespace troupe;
using namespace troupe::cpu;

TEST_CASE("parallel_for covers every element once, for any number of threads") {
  for (const int thread_count : {1, 2, 3}) {
    set_threads(thread_count);
    for (const std::size_t n : {0u, 1u, 5u, 64u, 1000u, 1027u}) {
      std::vector<int> touched(n, 0);
      parallel_for(n, 16, [&](std::size_t begin, std::size_t end) {
        REQUIRE(begin % 16 == 0);
        for (std::size_t i = begin; i < end; ++i)
          ++touched[i];
      });
      REQUIRE(std::accumulate(touched.begin(), touched.end(), std::size_t{0}) == n);
    }
  }
  set_threads(1);
}

TEST_CASE("each stream has its own number of threads") {
  HostStream one{{"one", 1}}, three{{"three", 3}};
  int in_one = 0, in_three = 0;
  one.enqueue([&]() -> Status {
    in_one = threads();
    return {};
  });
  three.enqueue([&]() -> Status {
    std::vector<int> parts(3, 0);
    parallel_for(300, 1, [&](std::size_t begin, std::size_t end) {
      parts[begin / 100] = static_cast<int>(end - begin);
    });
    in_three = parts[0] + parts[1] + parts[2] == 300 ? threads() : 0;
    return {};
  });
  REQUIRE(one.synchronize());
  REQUIRE(three.synchronize());
  REQUIRE(in_one == 1);
  REQUIRE(in_three == 3);
}
