// Tests contexts: a process that uses one GPU has no context on another.
#include "core/fail.hpp"
#include "gpu/cuda_device.hpp"

#include <catch2/catch_test_macros.hpp>

#include <functional>
#include <thread>

/// Null on a GPU (tests/emulation/runtime/stream.hpp).
extern "C" bool troupe_emulated_context(int device) __attribute__((weak));

using namespace troupe;
using namespace troupe::gpu;

namespace {

void run_on_a_thread(const std::function<void()>& call) {
  std::thread{call}.join();
}

} // namespace

TEST_CASE("callbacks of a device run with it as the current device") {
  const int count = cuda_device_count();
  if (count < 1)
    SKIP("no CUDA device");
  const auto device = make_cuda_device(count - 1).value();
  const auto stream = device->create_stream({.name = "test"});
  int current = -1;
  cuda_stream(*stream).note(fail(Errc::device, "failed")); // so that no event is queried before
  stream->on_complete([&](const Status&) { cudaGetDevice(&current); });
  CHECK_FALSE(stream->synchronize());
  CHECK(current == count - 1);
}

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
    BufferPtr pinned;
    // Any thread may call these. A thread keeps the device of its first call, so each has its own.
    run_on_a_thread([&] { CHECK(event->ready()); });
    run_on_a_thread([&] { CHECK(event->time().count() > 0); });
    run_on_a_thread([&] { device->copy(*stream, &read, memory->data(), sizeof read); });
    run_on_a_thread([&] { pinned = device->allocate_pinned(4096).value(); });
    run_on_a_thread([&] { pinned.reset(); });
  }
  CHECK_FALSE(troupe_emulated_context(0));
  CHECK(troupe_emulated_context(1));
}
