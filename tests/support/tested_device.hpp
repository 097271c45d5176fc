/// The device of tests that are compiled for the host and, with TROUPE_TEST_CUDA, for CUDA.
#pragma once

#include "core/config/devices.hpp"

#ifdef TROUPE_TEST_CUDA
#include "gpu/cuda_device.hpp"

#include <catch2/catch_test_macros.hpp>
#endif

namespace troupe::testing {

#ifdef TROUPE_TEST_CUDA
inline constexpr auto tested_kind = DeviceKind::cuda;
inline void need_device() {
  if (gpu::cuda_device_count() < 1)
    SKIP("there is no GPU");
}
#else
inline constexpr auto tested_kind = DeviceKind::cpu;
inline void need_device() {}
#endif

} // namespace troupe::testing
