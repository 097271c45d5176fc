/// The driver, or a stub of it (driver_stub.cmake), for tests of engines that cuDNN compiles at run
/// time.
#pragma once

#include <catch2/catch_test_macros.hpp>

#include <dlfcn.h>

namespace troupe::testing {

/// Loads the driver, or a stub with its name, for the rest of the process: cuDNN looks it up by
/// name.
inline void load_driver() {
  if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) &&
      !dlopen(TROUPE_DRIVER_STUB, RTLD_NOW | RTLD_GLOBAL))
    FAIL("neither a driver nor its stub: " << dlerror());
}

} // namespace troupe::testing
