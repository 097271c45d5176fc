/// How a model's graph is built and compiled for a CUDA device.
#pragma once

#include "gpu/cuda_device.hpp"
#include "gpu/lowering/plan_registry.hpp"
#include "training/platforms/platform.hpp"

namespace troupe::training {

/// The device must outlive the options. cuDNN is opened when a graph with convolutions is built.
/// Errors: those of the driver.
Result<EngineOptions> cuda_options(const Config& config, gpu::CudaDevice& device);
/// As above, with a device's recorded plans, which must outlive the options. Needs no device.
EngineOptions cuda_options(const Config& config, gpu::PlanRegistry& plans);

/// Returns the input format that the loader writes; `augments`: the device makes the images.
nn::InputFormat cuda_input(const Config& config, bool augments);

} // namespace troupe::training
