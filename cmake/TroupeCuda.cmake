# Sets TROUPE_HAVE_CUDA: whether gpu/ is built and its language enabled. Without a CUDA compiler or
# the headers of CUDA's libraries, only the host device is built. The CUDA targets also compile
# without a GPU.
set(TROUPE_HAVE_CUDA OFF)
set(TROUPE_EMULATE_CUDA OFF)

# troupe_no_cuda(REASON): an error if CUDA was requested; one line if it is optional.
function(troupe_no_cuda reason)
  if(TROUPE_CUDA STREQUAL "AUTO")
    message(NOTICE "troupe: without the CUDA device: ${reason} (docs/setup.md#cuda)")
  else()
    message(FATAL_ERROR "TROUPE_CUDA=${TROUPE_CUDA}: ${reason} (docs/setup.md#cuda)")
  endif()
endfunction()

# Sets TROUPE_NVCC to a working compiler and TROUPE_NVCC_RELEASE to its version, or
# TROUPE_NVCC_MISSING to the reason why there is none.
function(troupe_find_nvcc)
  set(nvcc "${CMAKE_CUDA_COMPILER}")
  if(NOT nvcc)
    set(nvcc "$ENV{CUDACXX}")
  endif()
  if(NOT nvcc)
    # The toolkit's default folder is often not in PATH.
    find_program(TROUPE_NVCC_PROGRAM nvcc HINTS /usr/local/cuda/bin)
    set(nvcc "${TROUPE_NVCC_PROGRAM}")
  endif()
  set(missing)
  if(NOT nvcc)
    set(missing "no CUDA compiler (nvcc): install NVIDIA's CUDA toolkit 12.4 or later, then run tools/bootstrap --cuda")
  else()
    execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE failed)
    string(REGEX MATCH "release ([0-9]+[.][0-9]+)" release "${said}")
    if(failed OR NOT release)
      set(missing "${nvcc} does not run")
    elseif(CMAKE_MATCH_1 VERSION_LESS 12.4)
      set(missing "${nvcc} is CUDA ${CMAKE_MATCH_1}, and 12.4 or later is needed")
    endif()
  endif()
  set(TROUPE_NVCC "${nvcc}" PARENT_SCOPE)
  set(TROUPE_NVCC_RELEASE "${CMAKE_MATCH_1}" PARENT_SCOPE)
  set(TROUPE_NVCC_MISSING "${missing}" PARENT_SCOPE)
endfunction()

if(TROUPE_CUDA STREQUAL "EMULATED")
  # The host's compiler compiles the kernels, and tests/emulation/ replaces the libraries: only
  # CUDA's headers are used.
  include(TroupeCudaHeaders)
  if(TROUPE_CUDA_MISSING)
    troupe_no_cuda("${TROUPE_CUDA_MISSING}")
  endif()
  add_library(troupe_cuda_runtime INTERFACE)
  target_link_libraries(troupe_cuda_runtime INTERFACE emulated_cudart)
  set(TROUPE_HAVE_CUDA ON)
  set(TROUPE_EMULATE_CUDA ON)
elseif(TROUPE_CUDA)
  troupe_find_nvcc()
  if(TROUPE_NVCC_MISSING)
    troupe_no_cuda("${TROUPE_NVCC_MISSING}")
  else()
    set(CMAKE_CUDA_COMPILER "${TROUPE_NVCC}")
    include(TroupeCudaHeaders)
    if(TROUPE_CUDA_MISSING)
      troupe_no_cuda("${TROUPE_CUDA_MISSING}")
    else()
      set(TROUPE_HAVE_CUDA ON)
    endif()
  endif()
endif()

if(TROUPE_HAVE_CUDA)
  include(TroupeCudaArchitectures)
endif()

if(TROUPE_HAVE_CUDA AND NOT TROUPE_EMULATE_CUDA)
  add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:${TROUPE_CUDA_GENERATE}>")
  enable_language(CUDA)
  # CMake 3.25 does not know the C++20 option of nvcc 12 and later.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_STANDARD_REQUIRED ON)
  find_package(CUDAToolkit 12.4 REQUIRED)
  add_library(troupe_cuda_runtime INTERFACE)
  target_link_libraries(troupe_cuda_runtime INTERFACE CUDA::cudart_static)
  # Not -Wpedantic: nvcc passes code with its own line markers to the host compiler.
  target_compile_options(troupe_compile_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers,-Wshadow,-Wnon-virtual-dtor>"
    $<$<AND:$<COMPILE_LANGUAGE:CUDA>,$<BOOL:${TROUPE_WERROR}>>:--Werror=all-warnings>)
endif()
