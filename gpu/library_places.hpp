/// The places that are searched for CUDA's libraries.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::gpu {

/// The inputs that decide where libraries are searched: read from the process, or made up by a
/// test.
struct LibraryEnvironment {
  std::string cuda_libraries;    ///< $TROUPE_CUDA_LIBRARIES: folders, separated by colons
  std::filesystem::path program; ///< the running program; locates its build tree, if it is in one
  std::string virtual_env;       ///< $VIRTUAL_ENV
  std::string conda_prefix;      ///< $CONDA_PREFIX
  std::string path;              ///< $PATH; its first python3 is used
  std::filesystem::path toolkit = "/usr/local/cuda";

  static LibraryEnvironment of_process();
};

/// Places in search order. An empty path is the loader's own search (ld.so.cache,
/// $LD_LIBRARY_PATH).
using LibraryPlaces = std::vector<std::filesystem::path>;

/// Returns, in order: $TROUPE_CUDA_LIBRARIES; for a program in a build tree, the wheels that
/// `tools/bootstrap --cuda` unpacked for that tree; the nvidia/*/lib folders of the virtual and the
/// Conda environment; the loader; the toolkit's folders; the nvidia/*/lib folders of the first
/// python3 in $PATH. Runs no Python.
LibraryPlaces library_places(const LibraryEnvironment& environment);

/// The places for this process. The emulated device has its own definition (tests/emulation/).
LibraryPlaces library_places_of_process();

} // namespace troupe::gpu
