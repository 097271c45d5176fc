/// Where CUDA's libraries are searched.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace troupe::gpu {

/// Decides where libraries are searched; read from the process, or made up by a test.
struct LibraryEnvironment {
  std::string cuda_libraries;    ///< $TROUPE_CUDA_LIBRARIES: folders, separated by colons
  std::filesystem::path program; ///< the running program, to find the build tree that it is part of
  std::string virtual_env;       ///< $VIRTUAL_ENV
  std::string conda_prefix;      ///< $CONDA_PREFIX
  std::string path;              ///< $PATH: the first python3 in it
  std::filesystem::path toolkit = "/usr/local/cuda";

  static LibraryEnvironment of_process();
};

/// Places in the order of search; an empty path is the loader's own search (ld.so.cache,
/// $LD_LIBRARY_PATH).
using LibraryPlaces = std::vector<std::filesystem::path>;

/// Returns $TROUPE_CUDA_LIBRARIES; for a program in a build tree, the wheels that `tools/bootstrap
/// --cuda` unpacked for that tree; the nvidia/*/lib folders of the virtual and the Conda
/// environment; the loader; the toolkit's folders; those folders of the first python3 in $PATH.
/// Nothing of Python is run.
LibraryPlaces library_places(const LibraryEnvironment& environment);

/// The places for this process. The emulated device has its own definition (tests/emulation/).
LibraryPlaces library_places_of_process();

} // namespace troupe::gpu
