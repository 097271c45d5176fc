#include "core/background_work.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <stdexcept>
#include <thread>

#include <sys/resource.h>

using troupe::BackgroundWork;
using namespace std::chrono_literals;

TEST_CASE("background work runs at the lowest priority without changing its caller's") {
  const int before = getpriority(PRIO_PROCESS, 0);
  int within = 0;
  BackgroundWork{1h}.run([&] { within = getpriority(PRIO_PROCESS, 0); });
  CHECK(within == 19);
  CHECK(getpriority(PRIO_PROCESS, 0) == before);
}

TEST_CASE("an exception in background work reaches its caller") {
  CHECK_THROWS_AS(BackgroundWork{}.run([] { throw std::runtime_error{"it breaks"}; }),
                  std::runtime_error);
}

TEST_CASE("background work that takes too long continues on its caller's thread") {
  BackgroundWork work{1ms};
  std::thread::id first, second;
  work.run([&] {
    first = std::this_thread::get_id();
    std::this_thread::sleep_for(100ms); // as when no processor is free
  });
  work.run([&] { second = std::this_thread::get_id(); });
  CHECK(first != std::this_thread::get_id());
  CHECK(second == std::this_thread::get_id());
}
