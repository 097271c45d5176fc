#include "gpu/device_rates.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using Catch::Approx;
using gpu::OperationClass;

TEST_CASE("the rates that kernels reach on an H100 are those of the count") {
  const auto h100 = gpu::DeviceRates::of({.name = "NVIDIA H100 80GB HBM3"});
  CHECK(h100.operations_per_second(OperationClass::narrow) == Approx(625e12));
  CHECK(h100.operations_per_second(OperationClass::wide) == Approx(40e12));
  CHECK(h100.operations_per_second(OperationClass::cudnn_attention) == Approx(300e12));
  CHECK(h100.operations_per_second(OperationClass::attention) == Approx(14e12));
  CHECK(h100.operations_per_second(OperationClass::attention_backward) == Approx(10e12));
  CHECK(h100.bytes_per_second == Approx(2.7e12));
  CHECK(h100.launch_seconds == 1.4e-6);
}

TEST_CASE("other GPUs reach the same shares of their data sheets") {
  const auto b200 = gpu::DeviceRates::of({.name = "NVIDIA B200"});
  CHECK(b200.operations_per_second(OperationClass::narrow) == Approx(625.0 / 989 * 2250e12));
  CHECK(b200.bytes_per_second == Approx(2.7 / 3.35 * 8e12));
  const auto rtx4090 = gpu::DeviceRates::of({.name = "NVIDIA GeForce RTX 4090"});
  CHECK(rtx4090.operations_per_second(OperationClass::attention) == Approx(14.0 / 67 * 82.6e12));
}

TEST_CASE("an unlisted GPU has rates by its clocks") {
  const auto a30 = gpu::DeviceRates::of({.name = "NVIDIA A30",
                                         .capability = 80,
                                         .multiprocessors = 56,
                                         .core_hertz = 1.44e9,
                                         .memory_hertz = 1.215e9,
                                         .memory_bits = 3072});
  CHECK(a30.operations_per_second(OperationClass::narrow) ==
        Approx(625.0 / 989 * 165e12).epsilon(0.01));
  CHECK(a30.bytes_per_second == Approx(2.7 / 3.35 * 933e9).epsilon(0.01));
}

TEST_CASE("the peak is the data sheet's, and unknown for GPUs that are not listed") {
  const auto peak = [](const char* name) { return gpu::peak_operations({.name = name}); };
  CHECK(peak("NVIDIA H100 80GB HBM3").narrow == Approx(989e12));
  CHECK(peak("NVIDIA H100 80GB HBM3").tf32 == Approx(494.5e12));
  CHECK(peak("NVIDIA H100 80GB HBM3").f32 == Approx(67e12));
  CHECK(peak("NVIDIA H100 PCIe").narrow == Approx(756e12));
  CHECK(peak("NVIDIA H100 NVL").narrow == Approx(835e12));
  CHECK(peak("NVIDIA H200").narrow == Approx(989e12));
  CHECK(peak("NVIDIA A100-SXM4-80GB").narrow == Approx(312e12));
  CHECK(peak("NVIDIA B200").narrow == Approx(2250e12));
  CHECK(peak("NVIDIA GeForce RTX 4090").narrow == Approx(165.2e12));
  CHECK(peak("NVIDIA GeForce RTX 5090").narrow == Approx(209.5e12));
  const gpu::DeviceClocks rtx3090{.name = "NVIDIA GeForce RTX 3090",
                                  .capability = 86,
                                  .multiprocessors = 82,
                                  .core_hertz = 1.695e9};
  CHECK(gpu::peak_operations(rtx3090).narrow == 0);
}

TEST_CASE("an unlisted GPU with sm_90 has the peak at its maximum clock") {
  const gpu::DeviceClocks slice{.name = "NVIDIA H100 80GB HBM3 MIG 3g.40gb",
                                .capability = 90,
                                .multiprocessors = 60,
                                .core_hertz = 1.98e9};
  CHECK(gpu::peak_operations(slice).narrow == Approx(4096 * 60 * 1.98e9));
}

TEST_CASE("a kernel's time is the larger of transfer and compute time, plus its launch") {
  const gpu::DeviceRates rates{1e12, {1e13, 1e14, 5e13, 2e12, 1e12}, 2e-6};
  const auto narrow = OperationClass::narrow;
  CHECK(rates.microseconds({.launches = 1}) == Approx(2));
  CHECK(rates.microseconds({.read = 4e6, .written = 6e6, .launches = 2}) == Approx(14));
  CHECK(rates.microseconds({.read = 1e7, .operations = 1e9, .operation_class = narrow}) ==
        Approx(10));
  CHECK(rates.microseconds({.read = 1e7, .operations = 2e9, .operation_class = narrow}) ==
        Approx(20));
  CHECK(rates.microseconds({.read = 1e7, .operations = 2e9}) == Approx(200));
  CHECK(rates.microseconds(
            {.read = 1e7, .operations = 2e9, .operation_class = OperationClass::attention}) ==
        Approx(1000));
}
