// The flat kernels of Device, on whichever device the program was linked with.
#include "test_device.hpp"

#include "troupe/core/random.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::tests;

namespace {

std::vector<float> random_values(std::size_t n, std::uint64_t stream) {
  CounterRng random{7, stream};
  std::vector<float> values(n);
  for (float& value : values)
    value = random.normal();
  return values;
}

struct Fixture {
  Fixture() : device{make_test_device(why)} {
    if (!device)
      SKIP("no CUDA device: " << why);
    stream = device->create_stream({"compute", 2});
  }

  template <class T>
  DeviceVector<T> upload(const std::vector<T>& values) {
    return {*device, *stream, values};
  }

  std::string why;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
};

} // namespace

TEST_CASE_METHOD(Fixture, "flat kernels do what they say, on odd sizes and places too") {
  for (const std::size_t n : {1u, 63u, 70001u})
    for (const std::size_t offset : {0u, 1u}) { // the second is not 16-byte aligned
      const auto a = random_values(n + offset, 1), b = random_values(n + offset, 2);
      const auto on_a = upload(a), on_b = upload(b), copy = upload(b),
                 zeros = upload(std::vector<float>(n, 1));
      const auto norm = upload(std::vector<double>(1));
      device->copy(*stream, copy.data(), on_a.data(), (n + offset) * sizeof(float));
      device->zero(*stream, zeros.data(), n * sizeof(float));
      device->add(*stream, on_b.data() + offset, on_a.data() + offset, n);
      device->scale(*stream, on_b.data() + offset, 0.5f, n);
      device->squared_norm(*stream, on_a.data() + offset, n, norm.data());
      REQUIRE(stream->synchronize());
      REQUIRE(copy.read() == a);
      REQUIRE(zeros.read() == std::vector<float>(n, 0));
      const auto sums = on_b.read();
      double expected = 0;
      for (std::size_t i = offset; i < n + offset; ++i) {
        REQUIRE(sums[i] == (b[i] + a[i]) * 0.5f);
        expected += static_cast<double>(a[i]) * static_cast<double>(a[i]);
      }
      if (offset)
        REQUIRE(sums[0] == b[0]);
      REQUIRE(norm.read()[0] == Catch::Approx(expected).epsilon(1e-12));
    }
}

TEST_CASE_METHOD(Fixture, "the squared norm is the same bit by bit every time") {
  const auto values = upload(random_values(300000, 3));
  const auto norms = upload(std::vector<double>(3));
  for (int i = 0; i < 3; ++i)
    device->squared_norm(*stream, values.data(), 300000, norms.data() + i);
  const auto found = norms.read();
  REQUIRE(found[0] == found[1]);
  REQUIRE(found[0] == found[2]);
}

TEST_CASE_METHOD(Fixture, "the optimizer kernels equal the shared scalar definition") {
  constexpr std::size_t n = 40001;
  for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw})
    for (const float momentum : {0.0f, 0.9f}) {
      OptimizerArguments arguments{
          .kind = kind, .lr = 0.01f, .momentum = momentum, .nesterov = true, .weight_decay = 0.1f};
      auto expected = random_values(n, 4);
      std::vector<float> expected0(n), expected1(n);
      const auto parameters = upload(expected), state0 = upload(expected0),
                 state1 = upload(expected1), clip = upload(std::vector<float>{0.25f});
      for (int step = 1; step <= 3; ++step) {
        const auto values = random_values(n, 10 + static_cast<std::uint64_t>(step));
        const auto gradients = upload(values);
        arguments.step = step;
        device->optimizer_step(
            *stream, arguments,
            {parameters.data(), gradients.data(), state0.data(), state1.data(), n}, clip.data(),
            nullptr);
        REQUIRE(stream->synchronize());
        auto scaled = arguments;
        scaled.gradient_scale = 0.25f;
        const auto corrections = adam_corrections(scaled);
        for (std::size_t i = 0; i < n; ++i)
          if (kind == OptimizerKind::sgd)
            sgd_update(scaled, expected[i], values[i], expected0[i]);
          else
            adam_update(scaled, corrections, expected[i], values[i], expected0[i], expected1[i]);
      }
      // The kernels contract multiplications and additions where the processor can.
      const auto found = parameters.read();
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(found[i] == Catch::Approx(expected[i]).epsilon(1e-5).margin(1e-6));
    }
}

TEST_CASE_METHOD(Fixture, "the clip factor is that of clip_grad_norm_, and never above one") {
  const auto squared_norm = upload(std::vector<double>{400.0});
  const auto factor = upload(std::vector<float>(1));
  device->clip_factor(*stream, squared_norm.data(), 0.5f, 2.0f, factor.data(), nullptr);
  CHECK(std::abs(factor.read()[0] - 0.2f) < 1e-6f); // the norm of the scaled gradients is 10
  device->clip_factor(*stream, squared_norm.data(), 0.5f, 20.0f, factor.data(), nullptr);
  CHECK(factor.read()[0] == 1.0f);
}
