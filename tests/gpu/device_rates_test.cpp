#include "gpu/device_rates.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using Catch::Approx;

TEST_CASE("device rates are the data sheet's, scaled to what kernels reach") {
  // H100 SXM5: 3.35 TB/s, 989 TFLOP/s in f16, 67 in f32.
  const auto h100 = gpu::DeviceRates::of({.capability = 90,
                                          .multiprocessors = 132,
                                          .core_hertz = 1.83e9,
                                          .memory_hertz = 2.619e9,
                                          .memory_bits = 5120});
  CHECK(h100.bytes_per_second == Approx(0.9 * 3.35e12).epsilon(0.01));
  CHECK(h100.narrow_operations == Approx(0.6 * 989e12).epsilon(0.01));
  CHECK(h100.wide_operations == Approx(0.6 * 62e12).epsilon(0.01));
  // A100 SXM4, 80 GB: 2.04 TB/s, 312 TFLOP/s.
  const auto a100 = gpu::DeviceRates::of({.capability = 80,
                                          .multiprocessors = 108,
                                          .core_hertz = 1.41e9,
                                          .memory_hertz = 1.593e9,
                                          .memory_bits = 5120});
  CHECK(a100.bytes_per_second == Approx(0.9 * 2.04e12).epsilon(0.01));
  CHECK(a100.narrow_operations == Approx(0.6 * 312e12).epsilon(0.01));
}

TEST_CASE("the peak is the data sheet's, and unknown for GPUs that are not listed") {
  gpu::DeviceClocks clocks{.capability = 90, .multiprocessors = 132, .core_hertz = 1.98e9};
  const auto h100 = gpu::peak_operations(clocks); // SXM: at the maximum clock it would be 1,070
  CHECK(h100.narrow == Approx(989e12).epsilon(0.002));
  CHECK(h100.tf32 == Approx(494.5e12).epsilon(0.002));
  CHECK(h100.f32 == Approx(67e12).epsilon(0.002));
  clocks.core_hertz = 1.785e9; // NVL
  CHECK(gpu::peak_operations(clocks).narrow == Approx(835.5e12).epsilon(0.002));
  clocks.core_hertz = 1.2e9; // limited by an administrator
  CHECK(gpu::peak_operations(clocks).narrow == Approx(649e12).epsilon(0.002));
  const gpu::DeviceClocks pcie{.capability = 90, .multiprocessors = 114, .core_hertz = 1.755e9};
  CHECK(gpu::peak_operations(pcie).narrow == Approx(756e12).epsilon(0.002));
  const gpu::DeviceClocks a100{.capability = 80, .multiprocessors = 108, .core_hertz = 1.41e9};
  CHECK(gpu::peak_operations(a100).narrow == Approx(312e12).epsilon(0.002));
  clocks.capability = 86;
  CHECK(gpu::peak_operations(clocks).narrow == 0);
}

TEST_CASE("a kernel's time is the larger of transfer and compute time, plus its launch") {
  const gpu::DeviceRates rates{1e12, 1e14, 1e13, 2e-6};
  CHECK(rates.microseconds({.launches = 1}) == Approx(2));
  CHECK(rates.microseconds({.read = 4e6, .written = 6e6, .launches = 2}) == Approx(14));
  CHECK(rates.microseconds({.read = 1e7, .operations = 1e9, .type = DType::f16}) == Approx(10));
  CHECK(rates.microseconds({.read = 1e7, .operations = 2e9, .type = DType::f16}) == Approx(20));
  CHECK(rates.microseconds({.read = 1e7, .operations = 2e9, .type = DType::f32}) == Approx(200));
}
