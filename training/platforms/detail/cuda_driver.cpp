#include "training/platforms/detail/cuda_driver.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

#include <array>
#include <memory>

namespace troupe::training {

namespace {

/// Values of CUdevice_attribute.
constexpr int attribute_integrated = 18, attribute_major = 75, attribute_minor = 76;

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

template <class... Args>
bool call(void* library, const char* name, Args... args) {
  const auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  return function != nullptr && function(args...) == 0;
}

} // namespace

CudaDriver probe_cuda_driver() {
  CudaDriver found;
  const std::unique_ptr<void, CloseLibrary> library{dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)};
  if (!library) {
    found.problem = "no driver (libcuda.so.1) on this machine";
    return found;
  }
  int count = 0;
  if (!call(library.get(), "cuInit", 0u) || !call(library.get(), "cuDeviceGetCount", &count)) {
    found.problem = "the driver does not answer";
    return found;
  }
  call(library.get(), "cuDriverGetVersion", &found.version);
  for (int device = 0; device < count; ++device) {
    std::array<char, 128> name = {};
    call(library.get(), "cuDeviceGetName", name.data(), static_cast<int>(name.size()), device);
    int integrated = 0, major = 0, minor = 0;
    call(library.get(), "cuDeviceGetAttribute", &integrated, attribute_integrated, device);
    call(library.get(), "cuDeviceGetAttribute", &major, attribute_major, device);
    call(library.get(), "cuDeviceGetAttribute", &minor, attribute_minor, device);
    found.devices.push_back({name.data(), 10 * major + minor});
    found.integrated = found.integrated || integrated != 0;
  }
  return found;
}

Traits cuda_driver_traits() {
  const auto driver = probe_cuda_driver();
  if (!driver.problem.empty())
    return {{"cuda", "driver", driver.problem, false}};
  Traits all{{"cuda", "driver",
              fmt::format("for CUDA {}.{}", driver.version / 1000, driver.version % 1000 / 10)}};
  for (std::size_t i = 0; i < driver.devices.size(); ++i)
    all.push_back({"cuda", fmt::format("device {}", i), driver.devices[i].name});
  if (driver.devices.empty())
    all.push_back({"cuda", "devices", "none", false});
  return all;
}

} // namespace troupe::training
