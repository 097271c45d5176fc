#include "core/background_work.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <stdexcept>
#include <thread>

#include <sys/resource.h>

using troupe::BackgroundWork;
using namespace std::chrono_literals;

TEST_CASE("background work has the lowest priority, and its caller keeps its own") {
  const int before = getpriority(PRIO_PROCESS, 0);
  int within = 0;
  BackgroundWork{1h}.run([&] { within = getpriority(PRIO_PROCESS, 0); });
  CHECK(within == 19);
  CHECK(getpriority(PRIO_PROCESS, 0) == before);
}

TEST_CASE("what background work throws reaches its caller") {
  CHECK_THROWS_AS(BackgroundWork{}.run([] { throw std::runtime_error{"it breaks"}; }),
                  std::runtime_error);
}

TEST_CASE("background work that waits for long goes on where its caller is") {
  BackgroundWork work{1ms};
  std::thread::id first, second;
  work.run([&] {
    first = std::this_thread::get_id();
    std::this_thread::sleep_for(100ms); // for want of a processor, as it looks
  });
  work.run([&] { second = std::this_thread::get_id(); });
  CHECK(first != std::this_thread::get_id());
  CHECK(second == std::this_thread::get_id());
}
