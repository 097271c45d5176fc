#include "gpu/cudnn/target.hpp"

#include "core/fail.hpp"
#include "core/json.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace troupe::gpu::cudnn {

namespace {

Status check(cudaError_t error, const char* doing, int device) {
  if (error == cudaSuccess)
    return {};
  return fail(Errc::device, "CUDA device {}, {}: {}", device, doing, cudaGetErrorString(error));
}

Result<Descriptor> properties_of_json(const CudnnLibrary& library, const std::string& json) {
  // The size includes the terminating zero.
  return DescriptorBuilder(library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device properties")
      .set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
           std::span<const char>(json.c_str(), json.size() + 1))
      .finalize();
}

/// Computes rates from properties as cuDNN writes them. They lack the memory bus width: unless it
/// was added, assumes that of five stacks of HBM.
DeviceRates described_rates(const nlohmann::json& properties, int sm) {
  const auto number = [&properties](const char* name, double otherwise = 1.0) {
    const auto value = properties.value(name, nlohmann::json());
    return value.is_number() ? value.get<double>() : otherwise;
  };
  return DeviceRates::of({.capability = sm,
                          .multiprocessors = static_cast<int>(number("multiProcessorCount")),
                          .core_hertz = 1e3 * number("smClockRateKHz"),
                          .memory_hertz = 1e3 * number("memClockRateKHz"),
                          .memory_bits = static_cast<int>(number("memoryBusWidth", 5120))});
}

} // namespace

Target::Target(const CudnnLibrary& library, std::string name, int sm, int driver)
    : library_(library), handle_(nullptr, library.destroy), sm_(sm),
      key_(fmt::format("{}, sm_{}, driver {}, cuDNN {}", name, sm, driver, library.version())) {}

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

Result<Target> Target::of_properties(const CudnnLibrary& library, const std::string& json) {
  const auto parsed = parse_json(json).value_or(nullptr);
  if (!parsed.is_object() || !parsed.contains("deviceName") || !parsed["deviceName"].is_string() ||
      !parsed.contains("deviceVer") || !parsed["deviceVer"].is_number_integer() ||
      !parsed.contains("driverVer") || !parsed["driverVer"].is_number_integer())
    return fail(Errc::invalid_input,
                "device properties need deviceName, deviceVer and driverVer, as JSON");
  TROUPE_TRY(auto properties, properties_of_json(library, json));
  Target target(library, parsed["deviceName"].get<std::string>(),
                parsed["deviceVer"].get<int>() / 10, parsed["driverVer"].get<int>());
  target.properties_ = std::move(properties);
  target.rates_ = described_rates(parsed, target.sm_);
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
  else
    builder.set(properties, properties_);
}

void Target::set_properties(DescriptorBuilder& builder,
                            cudnnBackendAttributeName_t properties) const {
  if (handle_ == nullptr)
    builder.set(properties, properties_);
}

} // namespace troupe::gpu::cudnn
