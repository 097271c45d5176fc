/// Rows about CUDA's libraries for `troupe doctor`.
#pragma once

#include "core/device/description.hpp"
#include "gpu/architectures.hpp"

#include <cstddef>
#include <string>

namespace troupe::gpu {

/// Formats 91900 as "9.19.0".
std::string dotted(std::size_t version);

/// Formats a library's version and file: "9.24.0, /usr/lib/x86_64-linux-gnu/libcudnn.so.9".
std::string found_library(const std::string& version, const std::string& file);

/// Reports whether the program has kernels for GPU `index`, whose compute capability is
/// `capability`.
Trait kernel_trait(std::size_t index, const Architectures& built, int capability);

/// Opens cuDNN, NVRTC and cuBLASLt and reports each in section "cuda".
Traits library_traits();

} // namespace troupe::gpu
