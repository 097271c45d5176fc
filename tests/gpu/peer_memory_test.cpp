// Memory of one GPU that another one of the process reads and writes.
#include "troupe/core/config/config.hpp"
#include "troupe/engine/platforms/platforms.hpp"
#include "troupe/gpu/cuda_device.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>
#include <memory>
#include <vector>

using namespace troupe;

namespace {

Config two_gpus() {
  Config config;
  config.devices.kind = "cuda";
  config.devices.count = 2;
  return config;
}

} // namespace

// NCCL's kernels do that directly, and nothing says that they may not: it ends the process's
// context, or hangs (openxla/xla#14891).
TEST_CASE("ranks of one process open their memory to each other before NCCL connects them") {
  if (gpu::cuda_device_count() < 2)
    SKIP("no 2 CUDA devices");
  const auto config = two_gpus();
  const auto gpus = engine::platform_of(config.devices).make_devices(config, {});
  std::vector<std::shared_ptr<Device>> devices;
  std::vector<engine::GroupMember> members;
  for (int rank = 0; rank < 2; ++rank) {
    devices.push_back(gpus->add().value());
    members.push_back({.worker = rank, .rank = rank});
  }
  constexpr std::chrono::seconds patience{30};
  auto group = gpus->make_group(
      members, {.name = "test", .world_size = 2, .collective = patience, .connect = patience});
  INFO((group ? "" : group.error().to_string()));
  REQUIRE(group);
  constexpr std::size_t elements = 1000;
  std::vector<BufferPtr> values;
  std::vector<std::unique_ptr<Stream>> streams;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    streams.push_back(devices[rank]->create_stream({.name = "test"}));
    values.push_back(devices[rank]->allocate(elements * sizeof(float), MemoryKind::data).value());
    const std::vector<float> own(elements, static_cast<float>(rank + 1));
    devices[rank]->copy(*streams[rank], values[rank]->data(), own.data(), elements * sizeof(float));
    (*group)[rank]->all_reduce(*streams[rank], {values[rank]->data(), elements, DType::f32});
  }
  for (std::size_t rank = 0; rank < 2; ++rank) {
    std::vector<float> sum(elements);
    devices[rank]->copy(*streams[rank], sum.data(), values[rank]->data(), elements * sizeof(float));
    const auto done = streams[rank]->synchronize();
    INFO((done ? "" : done.error().to_string()));
    REQUIRE(done);
    CHECK(sum == std::vector<float>(elements, 3));
  }
}
