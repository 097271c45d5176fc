/// What `troupe doctor` says of CUDA's libraries.
#pragma once

#include "core/device/description.hpp"

#include <cstddef>
#include <string>

namespace troupe::gpu {

/// 91900: "9.19.0".
std::string dotted(std::size_t version);

/// "9.24.0, /usr/lib/x86_64-linux-gnu/libcudnn.so.9": a library's version and its file.
std::string found_library(const std::string& version, const std::string& file);

/// cuDNN, NVRTC and cuBLASLt, which are opened; in the section "cuda".
Traits library_traits();

} // namespace troupe::gpu
