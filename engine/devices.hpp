/// Which device a rank trains on (devices.kind).
#pragma once

#include "troupe/core/config/forward.hpp"
#include "troupe/core/device/executable.hpp"
#include "troupe/nn/compile.hpp"

#include <functional>
#include <memory>
#include <string>

namespace troupe::engine {

/// auto: CUDA where this build has it and the driver shows a device for every worker, else the
/// host.
DeviceKind device_kind(const DevicesConfig& devices);

/// Threads of a host worker: the host's cores divided among the workers unless the config says.
int threads_per_worker(const DevicesConfig& devices);

/// What a worker computes in: "fp32 arithmetic, fp16 activations".
std::string arithmetic(const Config& config, Precision precision);

/// Told what takes long, and what was chosen, while a device prepares a model: a line each, from
/// any thread.
using SayLine = std::function<void(const std::string& line)>;

/// The device of a worker of this node; where there are fewer GPUs than workers, some share one.
/// Errors: unsupported where the build or the machine has no such device.
Result<std::shared_ptr<Device>> make_device(const DevicesConfig& devices, int index,
                                            const SayLine& say = {});

/// How a device wants a model's graph made, and compiled. The memory plan is the caller's to add.
struct EngineOptions {
  nn::PassOptions passes;
  CompileOptions compile;
};

/// The device must outlive them. Errors: unsupported where a library that the device needs is
/// missing.
Result<EngineOptions> engine_options(const Config& config, Device& device);

} // namespace troupe::engine
