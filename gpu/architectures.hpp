/// The GPUs that kernels were compiled for (TROUPE_CUDA_ARCHITECTURES, cmake/).
#pragma once

#include "core/error.hpp"

#include <string>
#include <vector>

namespace troupe::gpu {

/// Compute capabilities: 90 for sm_90.
struct Architectures {
  std::vector<int> machine_code; ///< ascending
  int ptx = 0;                   ///< the driver compiles it for this capability or later; 0: none
};

/// Returns those of this program.
Architectures built_architectures();

/// Formats them as "sm_80, sm_90; PTX for later GPUs".
std::string to_string(const Architectures& built);

/// Describes the kernels that a GPU of this compute capability runs: machine code of the same major
/// and no later minor version, or PTX. Errors: unsupported if there are none, with a remedy.
Result<std::string> kernels_for(const Architectures& built, int capability);

} // namespace troupe::gpu
