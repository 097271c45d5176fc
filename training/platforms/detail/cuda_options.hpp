/// How a CUDA device wants a model's graph made, and compiled.
#pragma once

#include "gpu/cuda_device.hpp"
#include "gpu/lowering/plan_registry.hpp"
#include "training/platforms/platform.hpp"

namespace troupe::training {

/// The device must outlive them. cuDNN is opened when a graph with convolutions is made. Errors:
/// those of the driver.
Result<EngineOptions> cuda_options(const Config& config, gpu::CudaDevice& device);
/// The same by a device's plans, which must outlive them; the device need not be here.
EngineOptions cuda_options(const Config& config, gpu::PlanRegistry& plans);

/// What the loader would like to write; `augments`: the device makes images itself.
nn::InputFormat cuda_input(const Config& config, bool augments);

} // namespace troupe::training
