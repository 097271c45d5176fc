#include "core/config/config.hpp"
#include "core/cores.hpp"
#include "training/platforms/platforms.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <sched.h>

using namespace troupe;

namespace {

/// Restricts the calling thread to one core during the object's lifetime.
class OneCore {
public:
  OneCore() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OneCore() { sched_setaffinity(0, sizeof before_, &before_); }
  OneCore(const OneCore&) = delete;
  OneCore& operator=(const OneCore&) = delete;

private:
  cpu_set_t before_;
};

} // namespace

TEST_CASE("workers share the cores that the process may use") {
  DevicesConfig devices;
  devices.count = 2;
  CHECK(training::threads_per_worker(devices) == std::max(1, usable_cores().count() / 2));
  const OneCore one;
  devices.count = 1;
  CHECK(training::threads_per_worker(devices) == 1);
  devices.threads_per_worker = 3;
  CHECK(training::threads_per_worker(devices) == 3);
}
