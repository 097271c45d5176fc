// Tests calls between ranks while a call of another thread blocks the driver: they end at the
// timeout, because the thread that watches it never calls CUDA.
#include "cpu/host_stream.hpp"
#include "tests/collectives/conformance/group.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

/// Null on a GPU (tests/emulation/runtime/loading.hpp).
extern "C" std::uint64_t troupe_emulated_loads() __attribute__((weak));

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// Allocates and frees page-locked memory during the object's lifetime, as other jobs of a process
/// may.
class Frees {
public:
  explicit Frees(std::shared_ptr<Device> device)
      : thread_{[this, device = std::move(device)] {
          while (!ended_)
            device->allocate(4096, MemoryKind::pinned).value().reset();
        }} {}
  ~Frees() {
    ended_ = true;
    thread_.join();
  }
  Frees(const Frees&) = delete;
  Frees& operator=(const Frees&) = delete;

private:
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

} // namespace

TEST_CASE("ranks whose threads are blocked in the driver fail after the timeout") {
  if (!troupe_emulated_loads)
    SKIP("no CUDA device whose driver is known to wait"); // a real driver may not wait
  Group group{any_backend(2), 2, 300ms};
  std::vector<DeviceValues> values;
  for (std::size_t rank = 0; rank < 2; ++rank)
    values.emplace_back(group[rank], DType::f32, whole_numbers(rank, 5000));
  const auto go_on = std::make_shared<cpu::HostEvent>();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    group[rank].stream->wait(go_on);
    group[rank].communicator->all_reduce(*group[rank].stream, values[rank].values());
  }
  void* memory = nullptr;
  REQUIRE(cudaHostAlloc(&memory, 4096, cudaHostAllocPortable) == cudaSuccess);
  auto freed = std::async(std::launch::async, [memory] { return cudaFreeHost(memory); });
  std::this_thread::sleep_for(50ms); // the call waits for the ranks' streams
  go_on->reach({});
  for (auto& member : group) {
    auto ended = std::async(std::launch::async, [&] { return member.stream->synchronize(); });
    REQUIRE(ended.wait_for(20s) == std::future_status::ready);
    const auto status = ended.get();
    if (!status) // NCCL's owner may have made the call before the driver blocked
      CHECK(status.error().code == Errc::collective);
  }
  CHECK(freed.get() == cudaSuccess);
  for (auto& member : group) // the communicators' threads may still use the values
    member.communicator.reset();
}

TEST_CASE("page-locked memory may be freed while ranks connect and during their calls") {
  if (!troupe_emulated_loads)
    SKIP("no CUDA device whose driver is known to wait");
  const auto backend = any_backend(2);
  const Frees frees{backend.device(0)};
  Group group{backend, 2};
  std::vector<DeviceValues> values;
  for (std::size_t rank = 0; rank < 2; ++rank)
    values.emplace_back(group[rank], DType::f32, whole_numbers(rank, 64));
  for (int call = 0; call < 50; ++call)
    for (std::size_t rank = 0; rank < 2; ++rank)
      group[rank].communicator->all_reduce(*group[rank].stream, values[rank].values());
  group.finish();
}

TEST_CASE("operations of a connected group load no kernels") {
  if (!troupe_emulated_loads)
    SKIP("no CUDA device that counts what it loads");
  Group group{any_backend(2), 2};
  std::vector<DeviceValues> values;
  for (std::size_t rank = 0; rank < 2; ++rank)
    values.emplace_back(group[rank], DType::f32, whole_numbers(rank, 64));
  const auto before = troupe_emulated_loads();
  for (std::size_t rank = 0; rank < 2; ++rank) {
    auto& [device, communicator, stream] = group[rank];
    const auto other = static_cast<int>(1 - rank);
    communicator->all_reduce(*stream, values[rank].values());
    communicator->all_reduce(*stream, {values[rank].data(), 16, DType::f64});
    const auto mine = values[rank].part(32 * rank, 32);
    communicator->reduce_scatter(*stream, values[rank].data(), mine);
    communicator->all_gather(*stream, mine, values[rank].data());
    communicator->broadcast(*stream, values[rank].values(), 0);
    communicator->reduce(*stream, {values[rank].data(), 64, DType::bf16}, 1);
    for (const int root : {0, 1}) // a root also sends to itself
      communicator->gather(*stream, values[rank].part(0, 16), values[rank].part(32, 32).data, root);
    communicator->shift(*stream, values[rank].part(0, 16), values[rank].part(16, 16).data, 1);
    communicator->barrier(*stream);
    if (rank == 0)
      communicator->send(*stream, values[rank].values(), other);
    else
      communicator->receive(*stream, values[rank].values(), other);
  }
  group.finish();
  CHECK(troupe_emulated_loads() == before);
}
