#include "gpu/description.hpp"

#include "gpu/libraries.hpp"

#include <fmt/format.h>

namespace troupe::gpu {

namespace {

template <class Library>
Trait trait(const char* name, const Result<Library>& library) {
  if (!library)
    return {"cuda", name, library.error().message, false};
  return {"cuda", name, found_library(dotted(library->version()), library->file)};
}

/// NVRTC compiles cuDNN's engines.
Trait nvrtc_trait(const Result<CudnnLibrary>& cudnn) {
  if (!cudnn || cudnn->nvrtc.version == 0)
    return {"cuda", "NVRTC", "not found: cuDNN has no engines that are compiled at run time",
            false};
  const auto [version, file] = cudnn->nvrtc;
  return {"cuda", "NVRTC",
          found_library(fmt::format("{}.{}", version / 1000, version % 1000 / 10), file)};
}

} // namespace

std::string dotted(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100);
}

std::string found_library(const std::string& version, const std::string& file) {
  return fmt::format("{}, {}", version, file);
}

Trait kernel_trait(std::size_t index, const Architectures& built, int capability) {
  const auto kernels = kernels_for(built, capability);
  return {.section = "cuda",
          .name = fmt::format("kernels of {}", index),
          .value = kernels ? *kernels : kernels.error().message,
          .usable = kernels.has_value()};
}

Traits library_traits() {
  const auto places = library_places_of_process();
  const auto cudnn = open_cudnn(places);
  return {trait("cuDNN", cudnn), nvrtc_trait(cudnn), trait("cuBLASLt", open_cublas_lt(places))};
}

} // namespace troupe::gpu
