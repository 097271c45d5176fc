#include "backend.hpp"

#include "troupe/collectives/shared_device/cuda_communicator.hpp"

#include <stdexcept>

namespace troupe::tests {

std::vector<Backend> backends(std::string& why) {
  auto made = gpu::make_cuda_device(0);
  if (!made) {
    why = made.error().to_string();
    return {};
  }
  const std::shared_ptr<gpu::CudaDevice> device = std::move(*made);
  const auto connect = [device](int world_size, std::chrono::milliseconds timeout) {
    const std::vector devices(static_cast<std::size_t>(world_size), device);
    auto group = collectives::make_shared_cuda_group(devices, timeout);
    if (!group)
      throw std::runtime_error{group.error().to_string()};
    return std::move(*group);
  };
  return {{.name = "shared_device on one GPU",
           .connect = connect,
           .device = [device](int) -> std::shared_ptr<Device> { return device; }}};
}

} // namespace troupe::tests
