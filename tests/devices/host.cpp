#include "cpu/host_device.hpp"
#include "tests/devices/test_device.hpp"

namespace troupe::testing {

std::unique_ptr<Device> make_test_device(std::string&) {
  return cpu::make_host_device(0, 2);
}

/// bf16 is computed in two ways, which tests/cpu/onednn_test.cpp compares one by one.
DeviceTraits test_traits() {
  return {.precisions = {Precision::fp32, Precision::amp_fp16, Precision::fp16}};
}

} // namespace troupe::testing
