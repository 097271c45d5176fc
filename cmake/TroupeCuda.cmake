# Sets TROUPE_HAVE_CUDA: whether gpu/ is built, and its language enabled. Without a CUDA compiler the
# host device is all there is; without a GPU the CUDA targets still compile.
set(TROUPE_HAVE_CUDA OFF)
set(TROUPE_EMULATE_CUDA OFF)
if(TROUPE_CUDA STREQUAL "EMULATED")
  # The host's compiler compiles the kernels, tests/emulation/ stands in for the libraries; of the
  # toolkit only headers are used.
  find_package(CUDAToolkit 12.4 REQUIRED)
  add_library(troupe_cuda_runtime INTERFACE)
  target_link_libraries(troupe_cuda_runtime INTERFACE emulated_cudart)
  set(TROUPE_HAVE_CUDA ON)
  set(TROUPE_EMULATE_CUDA ON)
elseif(TROUPE_CUDA AND EXISTS "${PROJECT_SOURCE_DIR}/gpu/CMakeLists.txt")
  # The toolkit's usual place is often not in PATH.
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX} AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Ampere and Hopper as machine code; PTX lets later generations compile it themselves. No kernel has code
    # that only Hopper runs, so one pass serves both, a quarter faster than CMake's pass for each.
    set(CMAKE_CUDA_ARCHITECTURES OFF CACHE STRING "CUDA architectures to compile for; OFF: 80 and 90, in one pass")
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_80,code=[compute_80,sm_80,sm_90]>")
    endif()
    enable_language(CUDA)
    # CMake 3.25 does not know how nvcc 12 and later are told C++20.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    set(CMAKE_CUDA_STANDARD_REQUIRED ON)
    find_package(CUDAToolkit 12.4 REQUIRED)
    add_library(troupe_cuda_runtime INTERFACE)
    target_link_libraries(troupe_cuda_runtime INTERFACE CUDA::cudart_static)
    # Not -Wpedantic: the code that nvcc hands to the host compiler has its own line marks.
    target_compile_options(troupe_compile_options INTERFACE
      "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers,-Wshadow,-Wnon-virtual-dtor>"
      $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${TROUPE_WERROR}>>:--Werror=all-warnings>)
    set(TROUPE_HAVE_CUDA ON)
  elseif(NOT TROUPE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "TROUPE_CUDA=${TROUPE_CUDA}, but there is no CUDA compiler (nvcc)")
  endif()
endif()
