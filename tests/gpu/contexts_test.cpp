// Tests contexts: a process that uses one GPU has no context on another.
#include "gpu/cuda_device.hpp"

#include <catch2/catch_test_macros.hpp>

#include <thread>

/// Null on a GPU (tests/emulation/runtime/stream.hpp).
extern "C" bool troupe_emulated_context(int device) __attribute__((weak));

using namespace troupe;
using namespace troupe::gpu;

TEST_CASE("the threads of a device create no context on another device") {
  if (cuda_device_count() < 2)
    SKIP("no 2 CUDA devices");
  if (!troupe_emulated_context)
    SKIP("no CUDA device that counts its contexts");
  if (troupe_emulated_context(0))
    return; // another test of this process has used GPU 0
  {
    const auto device = make_cuda_device(1).value();
    const auto stream = device->create_stream({.name = "test"});
    const auto memory = device->allocate(64, MemoryKind::workspace).value();
    float read = 1;
    device->zero(*stream, memory->data(), sizeof read);
    device->copy(*stream, &read, memory->data(), sizeof read);
    const auto event = stream->record();
    REQUIRE(stream->synchronize());
    CHECK(read == 0);
    std::thread{[event] { // any thread may ask
      CHECK(event->ready());
      CHECK(event->time().count() > 0);
    }}
        .join();
    std::thread{[&device] { device->allocate_pinned(4096).value().reset(); }}.join();
  }
  CHECK_FALSE(troupe_emulated_context(0));
  CHECK(troupe_emulated_context(1));
}
