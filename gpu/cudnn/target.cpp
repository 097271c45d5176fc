#include "gpu/cudnn/target.hpp"

#include "core/fail.hpp"

#include <utility>

namespace troupe::gpu::cudnn {

namespace {

Status check(cudaError_t error, const char* doing, int device) {
  if (error == cudaSuccess)
    return {};
  return fail(Errc::device, "CUDA device {}, {}: {}", device, doing, cudaGetErrorString(error));
}

} // namespace

Target::Target(const CudnnLibrary& library, const std::string& name, int sm, int driver,
               DeviceRates rates, Descriptor properties)
    : library_(library), handle_(nullptr, library.destroy), properties_(std::move(properties)),
      sm_(sm),
      key_(fmt::format("{}, sm_{}, driver {}, cuDNN {}", name, sm, driver, library.version())),
      rates_(rates) {}

Result<Target> Target::of_device(const CudnnLibrary& library, int device) {
  cudaDeviceProp properties = {};
  int driver = 0;
  TROUPE_TRY(check(cudaSetDevice(device), "selecting the device", device));
  TROUPE_TRY(
      check(cudaGetDeviceProperties(&properties, device), "querying the properties", device));
  TROUPE_TRY(check(cudaDriverGetVersion(&driver), "querying the driver version", device));
  Target target(library, properties.name, properties.major * 10 + properties.minor, driver);
  cudnnHandle_t handle = nullptr;
  if (const auto status = library.create(&handle); status != CUDNN_STATUS_SUCCESS)
    return cudnn_failure(library, status, "making a handle");
  target.handle_.reset(handle);
  TROUPE_TRY(target.rates_, DeviceRates::of_device(device));
  return target;
}

Status Target::use_stream(cudaStream_t stream) const {
  if (handle_ == nullptr)
    return fail(Errc::unsupported, "{} is not in this machine: its plans cannot run", key_);
  if (const auto status = library_.set_stream(handle_.get(), stream);
      status != CUDNN_STATUS_SUCCESS)
    return cudnn_failure(library_, status, "choosing a stream");
  return {};
}

void Target::set(DescriptorBuilder& builder, cudnnBackendAttributeName_t handle,
                 cudnnBackendAttributeName_t properties) const {
  if (handle_ != nullptr)
    builder.set(handle, handle_.get());
  set_properties(builder, properties);
}

void Target::set_properties(DescriptorBuilder& builder,
                            cudnnBackendAttributeName_t properties) const {
  if (handle_ == nullptr)
    builder.set(properties, properties_);
}

} // namespace troupe::gpu::cudnn
