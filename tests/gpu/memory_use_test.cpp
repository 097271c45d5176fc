// Tests the device memory that a training process takes beside its plan: CUDA's modules, the memory
// of cuDNN and cuBLAS, and memory that the pool cannot use. Hidden by default: cudaMemGetInfo
// counts all processes, so that no other test may run at the same time.
#include "bench/gpu/trainer.hpp"
#include "tests/devices/test_device.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;

namespace {

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  return free;
}

bench::Options memory_training(const std::string& device) {
  bench::Options options{.batch = 32, .warmup = 3};
  if (device.find("Emulated") == std::string::npos)
    return options;
  options.model = "resnet18";
  options.batch = 2;
  options.size = 66;
  return options;
}

} // namespace

// `troupe plan` and `train.recompute: {fit: ...}` only count troupe's allocations on devices with
// 80 GB or more; 1 GiB beside them is 1.3%. It is four times the size of all precompiled engines in
// cuDNN's library (234 MiB), of which CUDA loads those that run. The context exists before and is
// not counted. The emulated device has neither modules nor libraries with memory: there the limit
// tests only the pool.
TEST_CASE("a training process takes at most 1 GiB of a device beyond its allocations", "[.alone]") {
  const auto options = memory_training(testing::device_or_skip()->info().name);
  const auto before = free_bytes();
  { // Searches plans in memory that the pool returns; kernels that candidates have loaded stay.
    bench::Trainer first{options};
    first.warm_up();
  }
  bench::Trainer trainer{options};
  trainer.warm_up();
  const auto taken = before - free_bytes();
  const auto use = trainer.memory();
  INFO(taken / 1048576 << " MiB taken, " << use.total / 1048576 << " MiB allocated, at most "
                       << use.total_peak / 1048576 << " MiB");
  CHECK(taken >= use.total);
  CHECK(taken <= use.total_peak + (std::size_t{1} << 30));
}
