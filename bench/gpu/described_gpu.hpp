/// A GPU that is not in this machine, described by a file (tests/gpu/devices/).
#pragma once

#include "core/fail.hpp"
#include "core/json.hpp"
#include "gpu/cudnn/target.hpp"

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <utility>

namespace troupe::bench {

/// Returns the clocks in properties as cuDNN writes them. They lack the memory bus width: unless it
/// was added, assumes that of five stacks of HBM.
inline gpu::DeviceClocks described_clocks(const nlohmann::json& properties, int sm) {
  const auto number = [&properties](const char* name, double otherwise = 1.0) {
    const auto value = properties.value(name, nlohmann::json());
    return value.is_number() ? value.get<double>() : otherwise;
  };
  return {.name = properties.value("deviceName", ""),
          .capability = sm,
          .multiprocessors = static_cast<int>(number("multiProcessorCount")),
          .core_hertz = 1e3 * number("smClockRateKHz"),
          .memory_hertz = 1e3 * number("memClockRateKHz"),
          .memory_bits = static_cast<int>(number("memoryBusWidth", 5120))};
}

/// `json`: the GPU's properties, as cuDNN writes them (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
/// Errors: invalid_input.
inline Result<gpu::cudnn::Target> target_of_properties(const gpu::CudnnLibrary& library,
                                                       const std::string& json) {
  const auto parsed = parse_json(json).value_or(nullptr);
  if (!parsed.is_object() || !parsed.contains("deviceName") || !parsed["deviceName"].is_string() ||
      !parsed.contains("deviceVer") || !parsed["deviceVer"].is_number_integer() ||
      !parsed.contains("driverVer") || !parsed["driverVer"].is_number_integer())
    return fail(Errc::invalid_input,
                "device properties need deviceName, deviceVer and driverVer, as JSON");
  // The size includes the terminating zero.
  TROUPE_TRY(auto properties, gpu::cudnn::DescriptorBuilder(
                                  library, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, "device properties")
                                  .set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                       std::span<const char>(json.c_str(), json.size() + 1))
                                  .finalize());
  const int sm = parsed["deviceVer"].get<int>() / 10;
  return gpu::cudnn::Target{library,
                            parsed["deviceName"].get<std::string>(),
                            sm,
                            parsed["driverVer"].get<int>(),
                            gpu::DeviceRates::of(described_clocks(parsed, sm)),
                            std::move(properties)};
}

} // namespace troupe::bench
