// Tests the element bodies that kernels share with the host, and other code that needs no device.
#include "core/device/loss_scale.hpp"
#include "core/random.hpp"
#include "gpu/cuda_error.hpp"
#include "gpu/detail/cuda_memory.hpp"
#include "gpu/kernels/batch_norm_math.hpp"
#include "gpu/kernels/elementwise.hpp"
#include "gpu/kernels/loss.hpp"
#include "gpu/kernels/pooling.hpp"
#include "gpu/lowering/storage.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

using namespace troupe;
using namespace troupe::gpu;
using Catch::Approx;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("moments of values far from zero keep their variance") {
  double sum = 0, squares = 0, mean = 0;
  constexpr int n = 1000;
  CounterRng random{3, 0};
  std::vector<double> values(n);
  for (auto& value : values) {
    value = 1e4 + static_cast<double>(random.normal());
    mean += value / n;
  }
  const double origin = values[0];
  double variance = 0;
  for (const double value : values) {
    const auto distance = static_cast<double>(static_cast<float>(value - origin));
    sum += distance;
    squares += distance * distance;
    variance += (value - mean) * (value - mean) / n;
  }
  const auto found = moments(sum, squares, origin, n);
  CHECK(static_cast<double>(found.mean) == Approx(mean).epsilon(1e-6));
  CHECK(static_cast<double>(found.variance) == Approx(variance).epsilon(1e-4));
  CHECK(moments(0, -1e-9, 0, n).variance == 0);
  CHECK(std::isnan(moments(std::numeric_limits<double>::quiet_NaN(), 0, 0, n).variance));
}

TEST_CASE("the coefficients of batch norm's backward match its formula") {
  const float mean = 0.5f, inv_std = 2, scale = 1.5f, dscale = 3, dshift = -2, dy = 0.7f, x = 1.25f;
  const double rows = 8;
  const auto k = backward_coefficients(mean, inv_std, scale, dscale, dshift, rows);
  const double h = (1.25 - 0.5) * 2;
  CHECK(static_cast<double>(backward_element(k, dy, x)) ==
        Approx(1.5 * 2 * (0.7 + 2 / rows - h * 3 / rows)).epsilon(1e-6));
}

TEST_CASE("running statistics move by the momentum, with the unbiased variance") {
  CHECK(running(1, 3, 0.1f) == Approx(1.2f));
  CHECK(unbiased(2, 5) == Approx(2.5f));
}

TEST_CASE("covering_windows is the inverse of window_pixels") {
  for (const int kernel : {2, 3, 5})
    for (const int stride : {1, 2, 3})
      for (int padding = 0; 2 * padding <= kernel; ++padding) {
        const int length = 11, outputs = (length + 2 * padding - kernel) / stride + 1;
        for (int pixel = 0; pixel < length; ++pixel) {
          const auto range = covering_windows(pixel, kernel, stride, padding, outputs);
          for (int place = 0; place < outputs; ++place) {
            const auto pixels = window_pixels(place, kernel, stride, padding, length);
            const bool inside = pixel >= pixels.begin && pixel < pixels.end;
            INFO(kernel << ' ' << stride << ' ' << padding << ' ' << pixel << ' ' << place);
            REQUIRE(inside == (place >= range.begin && place < range.end));
          }
        }
      }
}

TEST_CASE("a row's cross entropy is the sum over its classes, with and without smoothing") {
  const std::vector<float> logits = {0.2f, -1, 3, 0.5f};
  double total = 0, sum = 0;
  for (const float logit : logits) {
    total += std::exp(static_cast<double>(logit));
    sum += static_cast<double>(logit);
  }
  const double log_sum = std::log(total);
  for (const float smoothing : {0.0f, 0.1f}) {
    double expected = 0;
    for (int c = 0; c < 4; ++c)
      expected += static_cast<double>(smoothed_target(2, c, 4, smoothing)) *
                  (log_sum - static_cast<double>(logits[static_cast<std::size_t>(c)]));
    CHECK(static_cast<double>(row_cross_entropy(static_cast<float>(log_sum), logits[2],
                                                static_cast<float>(sum), 4, smoothing)) ==
          Approx(expected).epsilon(1e-5));
  }
  CHECK(cross_entropy_gradient(0.5f, -1, 0, 4, 0.1f, 1) == 0);
}

TEST_CASE("losses are means over labelled rows, or over the number of rows in the graph") {
  CHECK(mean_rows(0, 3) == 3);
  CHECK(mean_rows(2.5, 3) == 2.5);
  const float loss_scale = 8;
  CHECK(gradient_factor(0, 4, nullptr) == 0.25f);
  CHECK(gradient_factor(2.5, 3, &loss_scale) == 3.2f);
  CHECK(gradient_factor(2.5, 0, &loss_scale) == 0); // no element counts
}

TEST_CASE("gelu's gate is the normal distribution function, or its tanh approximation") {
  for (float x = -9; x <= 9; x += 0.125f) {
    INFO(x);
    const double v = double{x}, p = std::erfc(-v / std::sqrt(2.0)) / 2;
    CHECK(double{gelu_gate(x, false).value} == Approx(p).epsilon(1e-5));
    CHECK(double{gelu_gate(x, false).slope} ==
          Approx(0.3989422804 * std::exp(-v * v / 2)).epsilon(1e-5));
    const double factor = std::sqrt(2 / std::numbers::pi);
    const double t = std::tanh(factor * (v + 0.044715 * v * v * v));
    CHECK(double{gelu_gate(x, true).value} == Approx((1 + t) / 2).margin(1e-6));
    CHECK(double{gelu_gate(x, true).slope} ==
          Approx((1 - t * t) / 2 * factor * (1 + 3 * 0.044715 * v * v)).margin(1e-6));
  }
  for (const bool tanh : {false, true}) {
    CHECK(gelu_gate(1e30f, tanh).value == 1);
    CHECK(1e30f * gelu_gate(1e30f, tanh).slope == 0);
    CHECK(gelu_gate(-1e30f, tanh).value == 0);
    CHECK(std::isnan(gelu_gate(std::nanf(""), tanh).value));
  }
}

TEST_CASE("filters are stored by row, column and input channel, padded with zeros") {
  const KrscCodec codec{{2, 3, 2, 1}, 4};
  std::vector<float> canonical(12), stored(codec.stored_elements(), -1), back(12);
  std::iota(canonical.begin(), canonical.end(), 1.0f);
  codec.encode(canonical, stored);
  REQUIRE(stored == std::vector<float>{1, 3, 5, 0, 2, 4, 6, 0, 7, 9, 11, 0, 8, 10, 12, 0});
  codec.decode(stored, back);
  REQUIRE(back == canonical);
}

TEST_CASE("an out-of-memory error of a device names the request, the usage and a remedy") {
  MemoryUse use;
  use.current[static_cast<std::size_t>(MemoryKind::activations)] = std::size_t{5} << 30;
  const auto error = out_of_memory(std::size_t{3} << 30, MemoryKind::activations, 1,
                                   std::size_t{1} << 30, std::size_t{8} << 30, use);
  CHECK(error.code == Errc::out_of_memory);
  for (const auto* part : {"device 1", "3 GiB", "of activations", "1 GiB of 8 GiB are free",
                           "5 GiB activations", "data.batch_size", "train.accumulate", "amp_"})
    CHECK_THAT(error.message, ContainsSubstring(part));
  CHECK_THAT(out_of_memory(1, MemoryKind::data, 0, 0, 1, {}).message,
             ContainsSubstring("data.residency host") && ContainsSubstring("holds nothing"));
}

TEST_CASE("CUDA errors name the operation and the device") {
  REQUIRE(cuda_status(cudaSuccess, "copy", 0));
  const auto status = cuda_status(cudaErrorIllegalAddress, "copy", 3);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::device);
  CHECK_THAT(status.error().message, ContainsSubstring("copy on CUDA device 3") &&
                                         ContainsSubstring("cudaErrorIllegalAddress"));
  CHECK(cuda_error(cudaErrorMemoryAllocation, "x", 0).code == Errc::out_of_memory);
  CHECK(cuda_error(cudaErrorNoDevice, "x", 0).code == Errc::unsupported);
}
