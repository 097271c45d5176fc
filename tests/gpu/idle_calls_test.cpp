// Tests calls that return only when a device is idle, during waits of streams for the host
// (gpu/detail/idle_calls.hpp).
#include "cpu/host_stream.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

Poller::Check once(std::shared_ptr<std::atomic<bool>> flag) {
  return
      [flag = std::move(flag)] { return *flag ? std::optional<Status>{Status{}} : std::nullopt; };
}

void* page_locked(std::size_t bytes) {
  void* memory = nullptr;
  REQUIRE(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) == cudaSuccess);
  return memory;
}

bool is_page_locked(const void* memory) {
  cudaPointerAttributes attributes{};
  REQUIRE(cudaPointerGetAttributes(&attributes, memory) == cudaSuccess);
  return attributes.type == cudaMemoryTypeHost;
}

class IdleCall : public GpuFixture {
public:
  IdleCall() = default;
  ~IdleCall() {
    *host_is_ready = true; // a failed test may have left a stream waiting
    if (memory_)
      cudaFreeHost(memory_);
  }
  IdleCall(const IdleCall&) = delete;
  IdleCall& operator=(const IdleCall&) = delete;

  /// Frees page-locked memory without IdleCalls, as a library may. Another thread makes the call,
  /// and is inside it when this function returns.
  std::future<cudaError_t> free_past_us() {
    auto* const memory = std::exchange(memory_, nullptr);
    auto freed = std::async(std::launch::async, [memory] { return cudaFreeHost(memory); });
    std::this_thread::sleep_for(50ms);
    return freed;
  }

  /// Runs the call on another thread. Requires that it returns while the stream waits for the host,
  /// and then ends the wait.
  void returns_during_wait(const std::function<void()>& call) {
    stream().wait_for(once(host_is_ready));
    auto returned = std::async(std::launch::async, call);
    const bool in_time = returned.wait_for(20s) == std::future_status::ready;
    *host_is_ready = true;
    returned.get();
    CHECK(in_time);
    CHECK(stream().synchronize());
  }

  std::shared_ptr<std::atomic<bool>> host_is_ready = std::make_shared<std::atomic<bool>>(false);

private:
  /// Allocated while no stream waits, because the allocation may block, too.
  void* memory_ = page_locked(4096);
};

} // namespace

TEST_CASE_METHOD(IdleCall, "a wait for the host ends while a call waits for an idle device") {
  stream().wait_for(once(host_is_ready));
  stream().on_complete([](const Status&) {}); // an event that the device's poller queries
  auto freed = free_past_us();
  *host_is_ready = true;
  REQUIRE(freed.wait_for(20s) == std::future_status::ready);
  CHECK(freed.get() == cudaSuccess);
  CHECK(stream().synchronize());
}

TEST_CASE_METHOD(IdleCall, "a wait for the host ends while a callback runs") {
  const auto other = device().create_stream({.name = "other"});
  std::promise<void> release;
  stream().on_complete(
      [released = release.get_future().share()](const Status&) { released.wait_for(20s); });
  cuda_stream(*other).wait_for(once(host_is_ready));
  const auto begin = std::chrono::steady_clock::now();
  *host_is_ready = true;
  CHECK(cudaStreamSynchronize(cuda_stream(*other).handle()) == cudaSuccess);
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
  release.set_value();
}

TEST_CASE_METHOD(IdleCall, "a host stream sees an event while a call waits for an idle device") {
  const auto offloads =
      device().create_stream({.name = "copies", .host_limit = std::chrono::seconds{60}});
  device().zero(*offloads, room(1), sizeof(float));
  const auto event = offloads->record();
  stream().wait_for(once(host_is_ready));
  REQUIRE(cudaStreamSynchronize(cuda_stream(*offloads).handle()) == cudaSuccess);
  auto freed = free_past_us();
  auto seen = std::async(std::launch::async, [&] {
    cpu::HostStream updates{{.name = "updates"}};
    updates.wait(event);
    return updates.synchronize();
  });
  const bool in_time = seen.wait_for(20s) == std::future_status::ready;
  *host_is_ready = true;
  CHECK(in_time);
  CHECK(seen.get());
  CHECK(freed.get() == cudaSuccess);
}

TEST_CASE_METHOD(IdleCall, "a stream with a time limit fails when the host does not respond") {
  const auto offloads =
      device().create_stream({.name = "copies", .host_limit = std::chrono::milliseconds{200}});
  const auto never = std::make_shared<cpu::HostEvent>();
  offloads->wait(never);
  const auto failed = offloads->synchronize();
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message.find("did not signal within 200 ms") != std::string::npos);
}

TEST_CASE_METHOD(IdleCall, "page-locked memory is freed once no stream waits for the host") {
  auto pinned = device().allocate_pinned(12345).value();
  const auto* const address = pinned->data();
  stream().wait_for(once(host_is_ready));
  const auto begin = std::chrono::steady_clock::now();
  pinned.reset();
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  pinned = device().allocate_pinned(12345).value(); // reuses the block before it is freed
  CHECK(pinned->data() == address);
  CHECK(pinned->data()[0] == std::byte{0});
  pinned.reset();
  *host_is_ready = true;
  REQUIRE(stream().synchronize());
  auto& idle_calls = *device().peers().idle_calls;
  CHECK(idle_calls.try_call([] {}));
  CHECK(idle_calls.reuse(12345, 12345) == nullptr);
}

TEST_CASE("page-locked memory is freed when the last token is released, not before") {
  if (cuda_device_count() < 1)
    SKIP("no CUDA device");
  auto* const memory = page_locked(4096);
  const auto idle_calls = std::make_shared<IdleCalls>();
  {
    const auto token = idle_calls->forbid();
    idle_calls->free_host(memory, 4096, 0);
    CHECK_FALSE(idle_calls->try_call([] {}));
    CHECK(is_page_locked(memory));
  }
  CHECK_FALSE(is_page_locked(memory));
}

TEST_CASE_METHOD(IdleCall,
                 "a node frees no page-locked memory while a stream of another node waits") {
  const auto other_node = make_cuda_device(0).value(); // has its own DevicePeers
  auto pinned = other_node->allocate_pinned(12345).value();
  returns_during_wait([&] { pinned.reset(); });
}

TEST_CASE_METHOD(IdleCall, "an allocation that does not fit fails without waiting for a stream") {
  returns_during_wait([&] {
    const auto all = device().allocate(device().info().memory_bytes, MemoryKind::data);
    if (all || all.error().code != Errc::out_of_memory)
      FAIL("the device is not full");
  });
}

TEST_CASE("a larger block is reused only if the caller accepts one") {
  if (cuda_device_count() < 1)
    SKIP("no CUDA device");
  auto *const larger = page_locked(8192), *const largest = page_locked(16384);
  const auto idle_calls = std::make_shared<IdleCalls>();
  const auto token = idle_calls->forbid();
  idle_calls->free_host(largest, 16384, 0);
  idle_calls->free_host(larger, 8192, 0);
  CHECK(idle_calls->reuse(4096, 4096) == nullptr);
  CHECK(idle_calls->reuse(4096, 1 << 20) == larger);
  CHECK(idle_calls->reuse(4096, 8192) == nullptr);
  idle_calls->free_host(larger, 4096, 0);
}
