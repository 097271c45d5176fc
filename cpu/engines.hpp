/// The lowerings that HostDevice::compile chooses from.
#pragma once

#include "troupe/core/executable.hpp"

#include <memory>

namespace troupe::cpu {

class HostDevice;

/// The scalar interpreter: clear, slow, the truth (cpu/interpreter/).
Result<std::unique_ptr<Executable>> compile_interpreter(HostDevice& device, const Graph& graph,
                                                        const CompileOptions& options);
/// oneDNN's primitives and our own vectorized kernels (cpu/onednn/).
Result<std::unique_ptr<Executable>> compile_onednn(HostDevice& device, const Graph& graph,
                                                   const CompileOptions& options);

} // namespace troupe::cpu
