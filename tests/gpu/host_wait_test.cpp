// Tests that a stream that waits for the host delays no other work: work that actors enqueue
// meanwhile may be what it waits for (gpu/detail/load_kernels.hpp).
#include "gpu/kernels/sum.hpp"
#include "gpu/wait_flags.hpp"
#include "nn/builder.hpp"
#include "tests/devices/graph_runner.hpp"
#include "tests/devices/op_cases.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

/// Null on a GPU (tests/emulation/runtime/memory.hpp).
extern "C" std::uint64_t troupe_emulated_page_locks() __attribute__((weak));

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

namespace {

using Clock = std::chrono::steady_clock;

struct HostWait : GpuFixture {
  /// Checks that the work that `work` enqueues on another stream completes while the first stream
  /// waits. The wait gives up in the end, so that a call that waits for it returns.
  void runs_beside_it(const std::function<void(Stream&)>& work) {
    const auto other = device().create_stream({.name = "other"});
    WaitFlags flags{device().info().index};
    auto* const flag = flags.take().value();
    stream().enqueue("wait", [&](cudaStream_t raw) { return flags.enqueue_wait(raw, flag); });
    std::atomic<bool> done = false, gave_up = false;
    std::thread time_limit{[&] {
      const auto end = Clock::now() + std::chrono::seconds{10};
      while (!done && Clock::now() < end)
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
      gave_up = !done;
      WaitFlags::raise(flag);
    }};
    work(*other);
    CHECK(other->synchronize());
    done = true;
    time_limit.join();
    CHECK_FALSE(gave_up);
    REQUIRE(stream().synchronize());
  }
};

TensorId small_network(nn::GraphBuilder& b, TensorId x) {
  x = b.relu("relu1", b.batch_norm("bn1", b.conv2d("conv1", x, 16, {3, 1, 1}), true));
  x = b.batch_norm("bn2", b.conv2d("conv2", x, 16, {3, 1, 1}), true);
  return b.global_avg_pool("pool", x);
}

} // namespace

TEST_CASE_METHOD(HostWait, "optimizer kernels run while another stream waits for the host") {
  auto *const parameters = floats({1, 2}), *const gradients = floats({3, 4}),
              *const first = floats({0, 0}), *const second = floats({0, 0}),
              *const factor = floats({1});
  auto* const norm = static_cast<double*>(room(2));
  auto* const scaler = reinterpret_cast<LossScaleState*>(float_room(16));
  const OptimizerArguments sgd, momentum{.momentum = 0.9f}, adamw{.kind = OptimizerKind::adamw};
  runs_beside_it([&](Stream& on) {
    device().check_finite(on, gradients, 2, &scaler->found_inf);
    device().add_squared_norm(on, sgd, gradients, 2, norm, nullptr);
    device().clip_factor(on, norm, 1, factor);
    for (const auto& arguments : {sgd, momentum, adamw})
      device().optimizer_step(on, arguments, {parameters, gradients, first, second, 2}, factor,
                              nullptr);
    device().update_loss_scale(on, {}, scaler);
  });
}

TEST_CASE_METHOD(HostWait, "collective kernels run while another stream waits for the host") {
  auto *const values = floats({1, 2}), *const others = floats({3, 4});
  runs_beside_it([&](Stream& on) {
    device().add(on, values, others, 2);
    device().round(on, values, DType::bf16, 2);
    for (const auto type : {DType::f16, DType::bf16}) {
      device().narrow(on, values, others, type, 2);
      device().widen(on, others, type, values, 2);
    }
    for (const auto type : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8})
      cuda_stream(on).enqueue("sum", [&](cudaStream_t raw) {
        launch_sum(raw, type, {.data = {values, others}, .count = 2}, values, 2);
      });
  });
}

TEST_CASE_METHOD(HostWait, "a training pass runs while another stream waits for the host") {
  for (const auto precision : {Precision::fp32, Precision::amp_fp16}) {
    const auto model = make_model({4, 8, 8, 3}, small_network,
                                  {.precision = precision,
                                   .input = {compute_type(precision), 4},
                                   .memory = {.alignment = 256}});
    GraphRun run{device(), model.graph, options_for(precision, model.memory)};
    runs_beside_it([&](Stream&) { run({.count = 4, .whole = true, .learn = true}); });
  }
}

TEST_CASE_METHOD(HostWait,
                 "memory and streams are created while another stream waits for the host") {
  auto* const values = floats({1, 2, 3});
  Floats read(3);
  Result<BufferPtr> pinned; // outlives the wait, because freeing it would wait for the device
  runs_beside_it([&](Stream& on) {
    device().copy(on, read.data(), values, 3 * sizeof(float));
    const auto memory = device().allocate(std::size_t{1} << 20, MemoryKind::data);
    pinned = device().allocate(std::size_t{1} << 20, MemoryKind::pinned);
    REQUIRE((memory && pinned));
    device().zero(on, (*memory)->data(), (*memory)->bytes());
    const auto third = device().create_stream({.name = "third"});
    third->wait(on.record());
    CHECK(third->synchronize());
  });
  CHECK(read == Floats{1, 2, 3});
}

// A driver may wait for an idle device before it page-locks memory.
TEST_CASE_METHOD(GpuFixture, "copies to pageable memory page-lock nothing after set-up") {
  if (!troupe_emulated_page_locks)
    SKIP("no CUDA device that counts what it page-locks");
  constexpr std::size_t largest = std::size_t{16} << 20;
  const auto memory = device().allocate(largest, MemoryKind::data).value();
  std::vector<std::byte> read(largest);
  const auto before = troupe_emulated_page_locks();
  for (auto bytes = largest; bytes > 0; bytes /= 2)
    device().copy(stream(), read.data(), memory->data(), bytes);
  REQUIRE(stream().synchronize());
  CHECK(troupe_emulated_page_locks() == before);
}
