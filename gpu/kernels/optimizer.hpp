/// Optimizer steps over flat fp32 buffers, one launch each. Arithmetic:
/// core/device/optimizer_math.hpp.
#pragma once

#include "core/device/device.hpp"
#include "core/device/loss_scale.hpp"
#include "gpu/kernels/update_gate.hpp"

#include <cuda_runtime_api.h>

namespace troupe::gpu {

/// All memory that the views point to is device memory. `clip` and `scaler` (device memory) may be
/// null: see Device::optimizer_step. Writes nothing if the gate is closed.
void launch_optimizer_step(cudaStream_t stream, const OptimizerArguments& arguments,
                           const OptimizerViews& views, const float* clip,
                           const LossScaleState* scaler, const UpdateGate& gate = {});

} // namespace troupe::gpu
