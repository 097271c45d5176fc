/// What `troupe doctor` says of CUDA's libraries.
#pragma once

#include "troupe/core/device/description.hpp"

#include <cstddef>
#include <string>

namespace troupe::gpu {

/// 91900: "9.19.0".
std::string dotted(std::size_t version);

/// cuDNN and cuBLASLt, which are opened; in the section "cuda".
Facts library_facts();

} // namespace troupe::gpu
