# Everything tools/bootstrap installs is found here, once. What the user names in CMAKE_PREFIX_PATH
# comes before what tools/bootstrap put into .deps/.
list(APPEND CMAKE_PREFIX_PATH "${PROJECT_SOURCE_DIR}/.deps")
if(TROUPE_SANITIZE MATCHES "thread")
  # ThreadSanitizer must see CAF's own synchronization too (tools/bootstrap --tsan).
  list(PREPEND CMAKE_PREFIX_PATH "${PROJECT_SOURCE_DIR}/.deps/tsan")
endif()

find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(PNG REQUIRED)
find_package(JPEG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Gloo REQUIRED)

# Debian's package has no CMake files.
find_library(WEBP_LIBRARY webp REQUIRED)
find_path(WEBP_INCLUDE_DIR webp/decode.h REQUIRED)
add_library(WebP::webp UNKNOWN IMPORTED)
set_target_properties(WebP::webp PROPERTIES
  IMPORTED_LOCATION "${WEBP_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${WEBP_INCLUDE_DIR}")

# oneDNN's own CMake package insists on the OpenCL headers, for a GPU backend that is not used here.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
add_library(DNNL::dnnl UNKNOWN IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES
  IMPORTED_LOCATION "${DNNL_LIBRARY}"
  INTERFACE_INCLUDE_DIRECTORIES "${DNNL_INCLUDE_DIR}")

# CAF's package only accepts an exact version, so the lower bound is checked here.
find_package(CAF REQUIRED COMPONENTS core io openssl)
if(CAF_VERSION VERSION_LESS 0.18.5)
  message(FATAL_ERROR "CAF ${CAF_VERSION} in ${CAF_DIR} is too old: 0.18.5 or later is needed")
endif()
if(TROUPE_TESTS)
  find_package(Catch2 3 REQUIRED)
  include(Catch)
  # A real Prometheus for the tests of the metrics endpoint; not needed to build.
  find_program(TROUPE_PROMETHEUS prometheus)
  find_program(TROUPE_PROMTOOL promtool)
  # A real browser for the tests of pages.
  find_program(TROUPE_CHROMIUM chromium)
endif()
if(TROUPE_BENCH)
  find_package(benchmark REQUIRED)
endif()
