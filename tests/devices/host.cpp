#include "cpu/host_device.hpp"
#include "tests/devices/test_device.hpp"

namespace troupe::testing {

std::unique_ptr<Device> make_test_device(std::string&) {
  return cpu::make_host_device(0, 2);
}

/// Omits bf16, which is computed in two ways that tests/cpu/onednn_test.cpp compares separately.
DeviceTraits test_traits() {
  return {.precisions = {Precision::fp32, Precision::amp_fp16, Precision::fp16}};
}

} // namespace troupe::testing
