// The emulated libraries lie next to the emulated runtime; real libraries elsewhere must not be
// opened.
#include "gpu/library_places.hpp"

#include <cuda_runtime_api.h>

#include <dlfcn.h>

namespace troupe::gpu {

LibraryPlaces library_places_of_process() {
  Dl_info runtime;
  if (::dladdr(reinterpret_cast<void*>(&cudaGetDeviceCount), &runtime) == 0)
    return {};
  return {std::filesystem::path(runtime.dli_fname).parent_path()};
}

} // namespace troupe::gpu
