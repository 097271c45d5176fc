#include "gpu/cuda_device.hpp"
#include "tests/devices/test_device.hpp"

namespace troupe::testing {

std::unique_ptr<Device> make_test_device(std::string& why) {
  auto device = gpu::make_cuda_device(0);
  if (device)
    return std::move(*device);
  why = device.error().to_string();
  return nullptr;
}

DeviceTraits test_traits() {
  return {.precisions = {Precision::fp32, Precision::tf32, Precision::amp_fp16, Precision::amp_bf16,
                         Precision::fp16, Precision::bf16},
          .image_channels = 4,
          .stores_indices = false,
          .same_kernels = false,
          .same_relu_edges = false};
}

} // namespace troupe::testing
