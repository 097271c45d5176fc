/// NVIDIA's management library, which is part of the driver. It is opened at run time, so that one
/// program starts on machines with and without it. Its functions are declared here, so that the
/// build needs no NVML header.
#pragma once

#include "core/error.hpp"
#include "metrics/machine/gpu_sample.hpp"

#include <map>
#include <memory>
#include <string>

namespace troupe::metrics {

class Nvml {
public:
  static constexpr const char* default_name = "libnvidia-ml.so.1";

  /// Errors: unsupported, if the library is missing or does not start.
  static Result<std::unique_ptr<Nvml>> open(const std::string& name = default_name);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// Reads the values of the GPU with this id ("GPU-8932f937-..."). Makes a few driver calls. One
  /// thread at a time.
  GpuSample sample(const std::string& gpu);

private:
  struct Device; ///< nvmlDevice_st
  struct Functions;

  explicit Nvml(std::unique_ptr<Functions> functions);
  Device* find(const std::string& gpu);

  std::unique_ptr<Functions> functions_;
  std::map<std::string, Device*> devices_;
};

} // namespace troupe::metrics
