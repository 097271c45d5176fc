// Tests the flat kernels of Device on the device that the program was linked with.
#include "core/float16.hpp"
#include "core/random.hpp"
#include "tests/devices/test_device.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cmath>

using namespace troupe;
using namespace troupe::testing;

namespace {

std::vector<float> flat_values(std::size_t n, std::uint64_t stream) {
  CounterRng random{7, stream};
  std::vector<float> values(n);
  for (float& value : values)
    value = random.normal();
  return values;
}

struct KernelFixture {
  KernelFixture() : device{make_test_device(why)} {
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

TEST_CASE_METHOD(KernelFixture,
                 "flat kernels give the expected values, also for odd sizes and offsets") {
  for (const std::size_t n : {1u, 63u, 70001u})
    for (const std::size_t offset : {0u, 1u}) { // the second is not 16-byte aligned
      const auto a = flat_values(n + offset, 1), b = flat_values(n + offset, 2);
      const auto on_a = upload(a), on_b = upload(b), copy = upload(b),
                 zeros = upload(std::vector<float>(n, 1));
      const auto norm = upload(std::vector<double>{1});
      device->copy(*stream, copy.data(), on_a.data(), (n + offset) * sizeof(float));
      device->zero(*stream, zeros.data(), n * sizeof(float));
      device->add(*stream, on_b.data() + offset, on_a.data() + offset, n);
      device->add_squared_norm(*stream, {}, on_a.data() + offset, n, norm.data(), nullptr);
      const auto scaled = upload(a);
      device->scale(*stream, scaled.data() + offset, 0.3f, n);
      const auto added = upload(b);
      device->add_product(*stream, added.data() + offset, on_a.data() + offset,
                          on_a.data() + offset, n);
      REQUIRE(stream->synchronize());
      REQUIRE(copy.read() == a);
      REQUIRE(zeros.read() == std::vector<float>(n, 0));
      const auto sums = on_b.read(), products = scaled.read(), squares = added.read();
      double expected = 1; // the sum is added to the initial value
      for (std::size_t i = offset; i < n + offset; ++i) {
        REQUIRE(sums[i] == b[i] + a[i]);
        REQUIRE(products[i] == a[i] * 0.3f);
        REQUIRE(squares[i] == Catch::Approx(b[i] + a[i] * a[i]).epsilon(1e-6).margin(1e-6));
        expected += static_cast<double>(a[i]) * static_cast<double>(a[i]);
      }
      if (offset)
        REQUIRE((sums[0] == b[0] && products[0] == a[0] && squares[0] == b[0]));
      REQUIRE(norm.read()[0] == Catch::Approx(expected).epsilon(1e-12));
    }
}

TEST_CASE_METHOD(KernelFixture, "the squared norm has the same bits every time") {
  const auto values = upload(flat_values(300000, 3));
  const auto norms = upload(std::vector<double>(3));
  for (int i = 0; i < 3; ++i)
    device->add_squared_norm(*stream, {}, values.data(), 300000, norms.data() + i, nullptr);
  const auto found = norms.read();
  REQUIRE(found[0] == found[1]);
  REQUIRE(found[0] == found[2]);
}

TEST_CASE_METHOD(KernelFixture, "the optimizer kernels equal the scalar reference") {
  constexpr std::size_t n = 40001;
  for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw})
    for (const float momentum : {0.0f, 0.9f}) {
      OptimizerArguments arguments{.kind = kind,
                                   .lr = 0.01f,
                                   .momentum = momentum,
                                   .nesterov = true,
                                   .weight_decay = 0.1f,
                                   .gradient_scale = 0.5f,
                                   .clip_value = 0.4f};
      auto expected = flat_values(n, 4);
      std::vector<float> expected0(n), expected1(n);
      const auto parameters = upload(expected), state0 = upload(expected0),
                 state1 = upload(expected1), clip = upload(std::vector<float>{0.25f});
      for (int step = 1; step <= 3; ++step) {
        const auto values = flat_values(n, 10 + static_cast<std::uint64_t>(step));
        const auto gradients = upload(values);
        arguments.step = step;
        device->optimizer_step(
            *stream, arguments,
            {parameters.data(), gradients.data(), state0.data(), state1.data(), n}, clip.data(),
            nullptr);
        REQUIRE(stream->synchronize());
        auto scaled = arguments;
        scaled.clip_factor = 0.25f;
        const auto corrections = adam_corrections(scaled);
        for (std::size_t i = 0; i < n; ++i)
          if (kind == OptimizerKind::sgd)
            sgd_update(scaled, expected[i], values[i], expected0[i]);
          else
            adam_update(scaled, corrections, expected[i], values[i], expected0[i], expected1[i]);
      }
      // The kernels fuse multiplications and additions when the processor can.
      const auto found = parameters.read();
      for (std::size_t i = 0; i < n; ++i)
        REQUIRE(found[i] == Catch::Approx(expected[i]).epsilon(1e-5).margin(1e-6));
    }
}

TEST_CASE_METHOD(KernelFixture,
                 "values round to nearest, and to infinity outside of a type's range") {
  auto values = flat_values(40001, 5);
  values.insert(values.end(), {1 + 0x1p-11f, 1 + 0x3p-11f, 65519.996f, -65520.0f, 1e-8f, INFINITY});
  const auto rounded = [](DType type, float value) {
    if (type == DType::f16)
      return float_from_f16(f16_from_float(value));
    return type == DType::bf16 ? float_from_bf16(bf16_from_float(value)) : value;
  };
  for (const auto type : {DType::f32, DType::f16, DType::bf16}) {
    const auto on_device = upload(values);
    device->round(*stream, on_device.data() + 1, type, values.size() - 1);
    const auto found = on_device.read();
    REQUIRE(found[0] == values[0]);
    for (std::size_t i = 1; i < values.size(); ++i)
      REQUIRE(found[i] == rounded(type, values[i]));
  }
}

TEST_CASE_METHOD(KernelFixture,
                 "optimizers that store a 16-bit type compute as in f32, then round") {
  constexpr std::size_t n = 40001;
  for (const auto type : {DType::f16, DType::bf16})
    for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adamw}) {
      OptimizerArguments arguments{.kind = kind, .lr = 0.01f, .momentum = 0.9f};
      const auto gradients = upload(flat_values(n, 6));
      const auto step = [&](DType stored) {
        const auto parameters = upload(flat_values(n, 4)), state0 = upload(flat_values(n, 7)),
                   state1 = upload(std::vector<float>(n, 0.1f));
        arguments.stored = stored;
        arguments.step = 2;
        device->optimizer_step(
            *stream, arguments,
            {parameters.data(), gradients.data(), state0.data(), state1.data(), n}, nullptr,
            nullptr);
        for (const auto* values : {&parameters, &state0, &state1})
          if (stored == DType::f32 && (values != &state1 || kind != OptimizerKind::sgd))
            device->round(*stream, values->data(), type, n);
        return std::array{parameters.read(), state0.read(), state1.read()};
      };
      REQUIRE(step(type) == step(DType::f32));
    }
}

TEST_CASE_METHOD(KernelFixture,
                 "an optimizer also writes the copies in 16 bits, unless it skips the step") {
  constexpr std::size_t n = 40001;
  for (const auto type : {DType::f16, DType::bf16})
    for (const auto kind : {OptimizerKind::sgd, OptimizerKind::adamw})
      for (const std::size_t skew : {0u, 1u}) // the second is not aligned
        for (const float found_inf : {0.0f, 1.0f}) {
          const auto parameters = upload(flat_values(n + skew, 4)),
                     gradients = upload(flat_values(n + skew, 6)),
                     state0 = upload(flat_values(n + skew, 7)),
                     state1 = upload(std::vector<float>(n + skew, 0.1f));
          const std::vector<std::uint16_t> before(n + skew, 7);
          const auto copies = upload(before), expected = upload(before);
          const auto scaler = upload(std::vector<LossScaleState>{{.found_inf = found_inf}});
          device->optimizer_step(*stream, {.kind = kind, .lr = 0.01f, .momentum = 0.9f, .step = 2},
                                 {.parameters = parameters.data() + skew,
                                  .gradients = gradients.data() + skew,
                                  .state0 = state0.data() + skew,
                                  .state1 = state1.data() + skew,
                                  .elements = n,
                                  .copies = reinterpret_cast<std::byte*>(copies.data() + skew),
                                  .copied = type},
                                 nullptr, scaler.data());
          if (found_inf == 0)
            device->narrow(*stream, parameters.data() + skew, expected.data() + skew, type, n);
          REQUIRE(copies.read() == expected.read());
        }
}

TEST_CASE_METHOD(KernelFixture,
                 "the clip factor equals that of clip_grad_norm_ and is at most one") {
  const auto squared_norm = upload(std::vector<double>{100.0});
  const auto factor = upload(std::vector<float>(1));
  device->clip_factor(*stream, squared_norm.data(), 2.0f, factor.data());
  CHECK(std::abs(factor.read()[0] - 0.2f) < 1e-6f);
  device->clip_factor(*stream, squared_norm.data(), 20.0f, factor.data());
  CHECK(factor.read()[0] == 1.0f);
}

TEST_CASE_METHOD(KernelFixture,
                 "gradients are averaged, unscaled, clipped by value, then by norm") {
  const OptimizerArguments arguments{.lr = 1, .gradient_scale = 0.25f, .clip_value = 3};
  const LossScaleState state{.scale = 1024};
  // The sum of four ranks, with the loss scale: 3, -2, 5 and -9000 without both.
  const auto gradients = upload(std::vector<float>{3 * 4096, -2 * 4096, 5 * 4096, -9000 * 4096});
  const auto scaler = upload(std::vector<LossScaleState>{state});
  const auto squared_norm = upload(std::vector<double>(1));
  const auto factor = upload(std::vector<float>(1));
  const auto parameters = upload(std::vector<float>(4));
  const auto update = [&](const LossScaleState* unscale) {
    device->zero(*stream, parameters.data(), 4 * sizeof(float));
    device->zero(*stream, squared_norm.data(), sizeof(double));
    device->add_squared_norm(*stream, arguments, gradients.data(), 4, squared_norm.data(), unscale);
    device->clip_factor(*stream, squared_norm.data(), 2.0f, factor.data());
    device->optimizer_step(*stream, arguments,
                           {parameters.data(), gradients.data(), nullptr, nullptr, 4},
                           factor.data(), scaler.data());
    return parameters.read();
  };
  const auto after = update(scaler.data());
  CHECK(squared_norm.read()[0] == 9 + 4 + 9 + 9);
  const float clip = 2.0f / (std::sqrt(31.0f) + 1e-6f);
  const std::vector<float> clipped = {3, -2, 3, -3};
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(after[i] == Catch::Approx(-clipped[i] * clip).epsilon(1e-6));
  // The bug that this test guards against: with the norm of gradients that are still scaled, other
  // elements reach the bound.
  const auto before = update(nullptr);
  CHECK(squared_norm.read()[0] == 4 * 9);
  CHECK(std::abs(before[1] - after[1]) > 0.04f);
}

TEST_CASE_METHOD(KernelFixture, "clipping by value keeps a NaN, so that found_inf detects it") {
  const auto gradients = upload(std::vector<float>{NAN, INFINITY, -INFINITY});
  const auto parameters = upload(std::vector<float>(3));
  device->optimizer_step(*stream, {.lr = 1, .clip_value = 2},
                         {parameters.data(), gradients.data(), nullptr, nullptr, 3}, nullptr,
                         nullptr);
  const auto found = parameters.read();
  CHECK(std::isnan(found[0])); // as torch.clamp does
  CHECK(found[1] == -2);
  CHECK(found[2] == 2);
}
