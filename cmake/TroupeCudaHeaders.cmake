# Finds the headers of CUDA and of the libraries that are opened at run time (gpu/libraries.hpp).
#
# Sets TROUPE_CUDA_INCLUDE_DIRS, and TROUPE_CUDA_MISSING: a sentence fragment that names the missing headers and how to
# get them, empty if all are found. Search order: CMake variables set by the user, the toolkit, the system (apt's
# packages), then .deps/cuda (tools/bootstrap --cuda).
file(GLOB troupe_cuda_wheels "${PROJECT_SOURCE_DIR}/.deps/cuda/nvidia/*/include"
  "${PROJECT_SOURCE_DIR}/.deps/cuda/nvidia/*/include/cccl")
# The wheels are for CUDA 13: not searched with an older compiler.
if(TROUPE_NVCC_RELEASE AND TROUPE_NVCC_RELEASE VERSION_LESS 13)
  set(troupe_cuda_wheels)
endif()
set(troupe_toolkits "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" "${CUDAToolkit_ROOT}" /usr/local/cuda)
list(FILTER troupe_toolkits EXCLUDE REGEX "^$")
if(CMAKE_CUDA_COMPILER)
  get_filename_component(troupe_nvcc "${CMAKE_CUDA_COMPILER}" REALPATH)
  get_filename_component(troupe_toolkit "${troupe_nvcc}/../.." ABSOLUTE)
  list(PREPEND troupe_toolkits "${troupe_toolkit}")
endif()
list(TRANSFORM troupe_toolkits APPEND /include OUTPUT_VARIABLE troupe_toolkit_includes)
foreach(toolkit ${troupe_toolkits})
  file(GLOB targets "${toolkit}/targets/*/include")
  list(APPEND troupe_toolkit_includes ${targets} "${toolkit}/include/cccl"
    "${toolkit}/extras/CUPTI/include")
endforeach()

set(TROUPE_CUDA_INCLUDE_DIRS)
set(troupe_cuda_missing)

# troupe_find_header(NAME FILE): adds the header's folder to the include path. NAME is "CUDA",
# "cuDNN" and so on, for messages.
function(troupe_find_header name file)
  string(MAKE_C_IDENTIFIER "${name}" variable)
  string(TOUPPER "${variable}_INCLUDE_DIR" variable)
  # Searches again if the folder is deleted or no longer searched, or if headers were installed
  # since.
  string(FIND "${${variable}}" "${PROJECT_SOURCE_DIR}/.deps/cuda/" in_wheels)
  if(NOT EXISTS "${${variable}}/${file}" OR (in_wheels EQUAL 0 AND NOT troupe_cuda_wheels))
    unset(${variable} CACHE)
  endif()
  find_path(${variable} ${file} HINTS ${troupe_toolkit_includes} PATHS ${troupe_cuda_wheels} DOC "${name}'s ${file}")
  if(${variable})
    list(APPEND TROUPE_CUDA_INCLUDE_DIRS "${${variable}}")
    list(REMOVE_DUPLICATES TROUPE_CUDA_INCLUDE_DIRS)
  else()
    list(APPEND troupe_cuda_missing "${name} (${file})")
  endif()
  set(TROUPE_CUDA_INCLUDE_DIRS "${TROUPE_CUDA_INCLUDE_DIRS}" PARENT_SCOPE)
  set(troupe_cuda_missing "${troupe_cuda_missing}" PARENT_SCOPE)
endfunction()

troupe_find_header(CUDA cuda_runtime_api.h)
troupe_find_header(CRT crt/host_config.h)
troupe_find_header(CCCL nv/target)
troupe_find_header(CUPTI cupti.h)
troupe_find_header(NVTX nvtx3/nvToolsExt.h)
troupe_find_header(cuBLAS cublasLt.h)
troupe_find_header(cuDNN cudnn.h)
troupe_find_header(NCCL nccl.h)

set(TROUPE_CUDA_MISSING)
if(troupe_cuda_missing)
  list(JOIN troupe_cuda_missing ", " troupe_cuda_missing)
  set(TROUPE_CUDA_MISSING "no headers of ${troupe_cuda_missing}: run tools/bootstrap --cuda")
endif()
