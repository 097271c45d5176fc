// Tests live streams that share a hardware queue (gpu/stream_list.hpp).
#include "core/config/config.hpp"
#include "gpu/stream_list.hpp"
#include "tests/gpu/reference.hpp"
#include "training/platforms/platforms.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

/// Null on a GPU (tests/emulation/runtime/loading.hpp).
extern "C" std::uint64_t troupe_emulated_loads() __attribute__((weak));

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

namespace {

bool is_emulated() {
  return troupe_emulated_loads != nullptr;
}

/// Returns whether two streams share a queue. On a busy machine a stream may look held once, but
/// hardly three times in a row.
bool surely_share(CudaStream& held, CudaStream& other) {
  for (int i = 0; i < 3; ++i)
    if (!share_queue(held, other))
      return false;
  return true;
}

/// Creates and destroys streams while another stream lives, as measurements do, until one shares
/// its queue.
std::unique_ptr<Stream> stream_that_shares(CudaDevice& device, CudaStream& with) {
  for (int i = 0; i < 64; ++i)
    if (auto made = device.create_stream({.name = "test"}); surely_share(with, cuda_stream(*made)))
      return made;
  return nullptr;
}

} // namespace

TEST_CASE_METHOD(GpuFixture, "streams that share a hardware queue are separated") {
  const auto other = stream_that_shares(device(), stream());
  if (!other) { // this driver frees queues
    REQUIRE(!is_emulated());
    return;
  }
  std::vector<std::string> said;
  device().peers().streams->separate([&](const std::string& line) { said.push_back(line); });
  CHECK_FALSE(surely_share(stream(), cuda_stream(*other)));
  CHECK(std::ranges::any_of(said, [](const std::string& line) {
    return line.find("shared a hardware queue") != std::string::npos;
  }));
  auto* const values = floats({1, 2}); // both streams continue
  device().add(*other, values, values, 2);
  REQUIRE(other->synchronize());
  CHECK(download(values, 2) == Floats{2, 4});
}

TEST_CASE_METHOD(GpuFixture, "streams of workers that share a GPU are separated") {
  const auto second = make_cuda_device(0, {}, device().peers()).value();
  const auto other = stream_that_shares(*second, stream());
  if (!other) {
    REQUIRE(!is_emulated());
    return;
  }
  device().peers().streams->separate({});
  CHECK_FALSE(surely_share(stream(), cuda_stream(*other)));
}

TEST_CASE("a node separates the streams of workers that share a GPU") {
  const int gpus = cuda_device_count();
  if (gpus < 1)
    SKIP("no CUDA device");
  Config config;
  config.devices.kind = DeviceKind::cuda;
  const auto node = training::platform_of(config.devices).make_devices(config, {});
  std::vector<std::shared_ptr<Device>> workers;
  for (int i = 0; i <= gpus; ++i) // the last has the GPU of the first
    workers.push_back(node->add().value());
  const auto held = workers.front()->create_stream({.name = "test"});
  const auto other =
      stream_that_shares(static_cast<CudaDevice&>(*workers.back()), cuda_stream(*held));
  if (!other) {
    REQUIRE(!is_emulated());
    return;
  }
  node->separate_streams();
  CHECK_FALSE(surely_share(cuda_stream(*held), cuda_stream(*other)));
}
