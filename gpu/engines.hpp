/// Entry point of the lowering, for CudaDevice::compile.
#pragma once

#include "core/device/executable.hpp"

#include <memory>

namespace troupe::gpu {

class CudaDevice;

/// Errors: unsupported if no kernel or library here supports the graph.
Result<std::unique_ptr<Executable>> compile_cuda(CudaDevice& device, const Graph& graph,
                                                 const CompileOptions& options);

} // namespace troupe::gpu
