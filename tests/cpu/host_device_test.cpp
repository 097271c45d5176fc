#include "troupe/cpu/host_device.hpp"

#include "troupe/core/random.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

using namespace troupe;
using namespace troupe::cpu;

namespace {

std::vector<float> random_values(std::size_t n, std::uint64_t stream) {
  CounterRng random{7, stream};
  std::vector<float> values(n);
  for (float& value : values)
    value = random.normal();
  return values;
}

} // namespace

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

TEST_CASE("an allocation that no host can serve is an error, not an abort") {
  const auto device = make_host_device(0, 1);
  const auto buffer = device->allocate(SIZE_MAX / 4, MemoryKind::data);
  REQUIRE_FALSE(buffer);
  REQUIRE(buffer.error().code == Errc::out_of_memory);
}

TEST_CASE("buffers may outlive their device") {
  BufferPtr kept;
  {
    const auto device = make_host_device(0, 1);
    kept = *device->allocate(64, MemoryKind::data);
  }
  kept->floats()[0] = 1;
}

TEST_CASE("flat kernels do what they say, on odd sizes too") {
  const auto device = make_host_device(0, 2);
  for (const std::size_t n : {1u, 63u, 70001u}) {
    const auto stream = device->create_stream({"compute", 2});
    const auto a = random_values(n, 1);
    auto b = random_values(n, 2);
    const auto b_before = b;
    std::vector<float> copy(n), zeros(n, 1);
    double norm = 0;
    device->copy(*stream, copy.data(), a.data(), n * sizeof(float));
    device->zero(*stream, zeros.data(), n * sizeof(float));
    device->add(*stream, b.data(), a.data(), n);
    device->scale(*stream, b.data(), 0.5f, n);
    device->squared_norm(*stream, a.data(), n, &norm);
    REQUIRE(stream->synchronize());
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) {
      REQUIRE(b[i] == (b_before[i] + a[i]) * 0.5f);
      REQUIRE(zeros[i] == 0);
      expected += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    }
    REQUIRE(copy == a);
    REQUIRE(norm == Catch::Approx(expected).epsilon(1e-12));
  }
}

TEST_CASE("the squared norm does not depend on the number of threads") {
  const auto device = make_host_device(0, 2);
  const auto values = random_values(100000, 3);
  double norms[2] = {};
  for (const int thread_count : {1, 2}) {
    const auto stream = device->create_stream({"compute", thread_count});
    device->squared_norm(*stream, values.data(), values.size(), &norms[thread_count - 1]);
    REQUIRE(stream->synchronize());
  }
  REQUIRE(norms[0] == norms[1]);
}

TEST_CASE("the optimizer kernels equal the shared scalar definition") {
  const auto device = make_host_device(0, 2);
  constexpr std::size_t n = 40001;
  for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw})
    for (const float momentum : {0.0f, 0.9f}) {
      const auto stream = device->create_stream({"compute", 2});
      OptimizerArguments arguments{
          .kind = kind, .lr = 0.01f, .momentum = momentum, .nesterov = true, .weight_decay = 0.1f};
      auto parameters = random_values(n, 4);
      auto expected = parameters;
      std::vector<float> state0(n), state1(n), expected0(n), expected1(n);
      const float clip = 0.25f;
      for (int step = 1; step <= 3; ++step) {
        const auto gradients = random_values(n, 10 + static_cast<std::uint64_t>(step));
        arguments.step = step;
        device->optimizer_step(
            *stream, arguments,
            {parameters.data(), gradients.data(), state0.data(), state1.data(), n}, &clip);
        REQUIRE(stream->synchronize());
        auto scaled = arguments;
        scaled.gradient_scale = clip;
        const auto corrections = adam_corrections(scaled);
        for (std::size_t i = 0; i < n; ++i)
          if (kind == OptimizerKind::sgd)
            sgd_update(scaled, expected[i], gradients[i], expected0[i]);
          else
            adam_update(scaled, corrections, expected[i], gradients[i], expected0[i], expected1[i]);
      }
      // The kernels contract multiplications and additions where the processor can.
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(parameters[i] == Catch::Approx(expected[i]).epsilon(1e-5).margin(1e-6));
    }
}

TEST_CASE("the clip factor is that of clip_grad_norm_, and never above one") {
  const auto device = make_host_device(0, 1);
  const auto stream = device->create_stream({});
  double squared_norm = 400.0;
  float factor = 0;
  device->clip_factor(*stream, &squared_norm, 0.5f, 2.0f, &factor);
  REQUIRE(stream->synchronize());
  CHECK(std::abs(factor - 0.2f) < 1e-6f); // the norm of the scaled gradients is 10
  device->clip_factor(*stream, &squared_norm, 0.5f, 20.0f, &factor);
  REQUIRE(stream->synchronize());
  CHECK(factor == 1.0f);
}
