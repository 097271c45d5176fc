/// The lowering that CudaDevice::compile uses.
#pragma once

#include "core/device/executable.hpp"

#include <memory>

namespace troupe::gpu {

class CudaDevice;

/// Errors: unsupported for what no kernel or library here can do.
Result<std::unique_ptr<Executable>> compile_cuda(CudaDevice& device, const Graph& graph,
                                                 const CompileOptions& options);

} // namespace troupe::gpu
