#include "core/random.hpp"
#include "cpu/host_device.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

using namespace troupe;
using namespace troupe::cpu;

TEST_CASE("host memory is zeroed, aligned and accounted by kind") {
  const auto device = make_host_device(0, 2);
  auto small = device->allocate(1000, MemoryKind::parameters);
  auto large = device->allocate(20u << 20, MemoryKind::activations);
  REQUIRE(small);
  REQUIRE(large);
  REQUIRE((*small)->bytes() == 1000);
  for (const auto& buffer : {*small, *large}) {
    REQUIRE(reinterpret_cast<std::uintptr_t>(buffer->data()) % 64 == 0);
    REQUIRE(buffer->data()[0] == std::byte{0});
    REQUIRE(buffer->data()[buffer->bytes() - 1] == std::byte{0});
    std::memset(buffer->data(), 1, buffer->bytes());
  }
  REQUIRE(device->memory().total == 1000 + (20u << 20));
  large->reset();
  REQUIRE(device->memory().total == 1000);
  REQUIRE(device->memory().total_peak == 1000 + (20u << 20));
  REQUIRE(device->memory().peak[static_cast<std::size_t>(MemoryKind::activations)] == 20u << 20);
  REQUIRE(device->memory().current[static_cast<std::size_t>(MemoryKind::parameters)] == 1000);
}

TEST_CASE("a device without backing memory counts buffers of any size") {
  const auto device = make_host_device(0, 1, Backing::none);
  constexpr std::size_t large = std::size_t{1} << 60;
  auto buffer = device->allocate(large, MemoryKind::activations);
  REQUIRE(buffer);
  REQUIRE((*buffer)->bytes() == large);
  REQUIRE(reinterpret_cast<std::uintptr_t>((*buffer)->data()) % 64 == 0);
  REQUIRE(device->memory().total == large);
  buffer->reset();
  REQUIRE(device->memory().total == 0);
  REQUIRE(device->memory().total_peak == large);
}

TEST_CASE("the squared norm is independent of the number of threads") {
  const auto device = make_host_device(0, 2);
  CounterRng random{7, 3};
  std::vector<float> values(100000);
  for (float& value : values)
    value = random.normal();
  double norms[2] = {};
  for (const int thread_count : {1, 2}) {
    const auto stream = device->create_stream({"compute", thread_count});
    device->add_squared_norm(*stream, {}, values.data(), values.size(), &norms[thread_count - 1],
                             nullptr);
    REQUIRE(stream->synchronize());
  }
  REQUIRE(norms[0] == norms[1]);
}
