# The libraries that our libraries link: for this tree, and for programs that find_package(troupe).
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
# Beast, which is header-only.
find_package(Boost 1.74 REQUIRED CONFIG)
find_package(CURL REQUIRED)
# Unicode classes of letters, numbers and white space.
find_package(ICU REQUIRED COMPONENTS uc)

# Debian's package has no CMake files.
find_library(WEBP_LIBRARY webp REQUIRED)
find_path(WEBP_INCLUDE_DIR webp/decode.h REQUIRED)
if(NOT TARGET WebP::webp)
  add_library(WebP::webp UNKNOWN IMPORTED)
  set_target_properties(WebP::webp PROPERTIES
    IMPORTED_LOCATION "${WEBP_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${WEBP_INCLUDE_DIR}")
endif()

# Debian's package has no CMake files.
find_library(CSV_LIBRARY csv REQUIRED)
find_path(CSV_INCLUDE_DIR csv.h REQUIRED)
if(NOT TARGET csv::csv)
  add_library(csv::csv UNKNOWN IMPORTED)
  set_target_properties(csv::csv PROPERTIES
    IMPORTED_LOCATION "${CSV_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${CSV_INCLUDE_DIR}")
endif()

# oneDNN's CMake package requires the OpenCL headers, for a GPU backend that is not used here.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
if(NOT TARGET DNNL::dnnl)
  add_library(DNNL::dnnl UNKNOWN IMPORTED)
  set_target_properties(DNNL::dnnl PROPERTIES
    IMPORTED_LOCATION "${DNNL_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${DNNL_INCLUDE_DIR}")
endif()

# CAF's package only accepts an exact version, so the lower bound is checked here.
find_package(CAF REQUIRED COMPONENTS core io openssl)
if(CAF_VERSION VERSION_LESS 0.18.5)
  message(FATAL_ERROR "CAF ${CAF_VERSION} in ${CAF_DIR} is too old: 0.18.5 or later is needed")
endif()
