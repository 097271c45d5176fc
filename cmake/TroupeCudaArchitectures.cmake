# The GPUs that kernels are compiled for. Sets TROUPE_CUDA_CODE, a list of compute capabilities (90 for sm_90) with machine
# code, TROUPE_CUDA_PTX, the capability of the embedded PTX (0: none), and TROUPE_CUDA_GENERATE, nvcc's option.
set(TROUPE_CUDA_ARCHITECTURES test CACHE STRING
  "GPUs to compile kernels for: test (80, 90, and PTX for later ones), package (80 to 120, and PTX), or a list such as 86;89 without PTX")

set(troupe_oldest_architecture 80)

# troupe_nvcc_architectures(VARIABLE): the compute capabilities that nvcc compiles for.
function(troupe_nvcc_architectures variable)
  execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-code OUTPUT_VARIABLE said ERROR_QUIET)
  string(REGEX MATCHALL "sm_[0-9]+" known "${said}")
  list(TRANSFORM known REPLACE "sm_" "")
  set(${variable} ${known} PARENT_SCOPE)
endfunction()

function(troupe_check_architectures known)
  foreach(architecture ${TROUPE_CUDA_ARCHITECTURES})
    if(NOT architecture MATCHES "^[1-9][0-9]+$")
      message(FATAL_ERROR "TROUPE_CUDA_ARCHITECTURES=${TROUPE_CUDA_ARCHITECTURES}: ${architecture} is not a compute capability; "
        "use test, package, or a list such as 86;89 (docs/setup.md#cuda)")
    elseif(architecture LESS troupe_oldest_architecture)
      message(FATAL_ERROR "TROUPE_CUDA_ARCHITECTURES=${TROUPE_CUDA_ARCHITECTURES}: kernels need sm_${troupe_oldest_architecture} or later")
    elseif(NOT architecture IN_LIST known)
      list(JOIN known ", " known)
      message(FATAL_ERROR "TROUPE_CUDA_ARCHITECTURES=${TROUPE_CUDA_ARCHITECTURES}: nvcc ${TROUPE_NVCC_RELEASE} cannot compile for "
        "sm_${architecture}; it knows ${known}")
    endif()
  endforeach()
endfunction()

function(troupe_select_architectures)
  troupe_nvcc_architectures(known)
  set(ptx ${troupe_oldest_architecture})
  if(TROUPE_CUDA_ARCHITECTURES STREQUAL "test")
    set(code 80 90)
  elseif(TROUPE_CUDA_ARCHITECTURES STREQUAL "package")
    set(code)
    foreach(architecture 80 86 89 90 100 103 120)
      if(architecture IN_LIST known)
        list(APPEND code ${architecture})
      else()
        message(NOTICE "troupe: the package has no machine code for sm_${architecture}, which nvcc ${TROUPE_NVCC_RELEASE} does not know")
      endif()
    endforeach()
  else()
    troupe_check_architectures("${known}")
    set(code ${TROUPE_CUDA_ARCHITECTURES})
    list(SORT code COMPARE NATURAL)
    set(ptx 0)
  endif()
  # No kernel has code for one generation only, so one pass over the source, for the oldest GPU,
  # serves all: a pass for each would take a third more time for two of them.
  list(GET code 0 oldest)
  set(targets ${code})
  list(TRANSFORM targets PREPEND "sm_")
  if(ptx)
    list(PREPEND targets "compute_${oldest}")
  endif()
  list(JOIN targets "," targets)
  set(TROUPE_CUDA_CODE ${code} PARENT_SCOPE)
  set(TROUPE_CUDA_PTX ${ptx} PARENT_SCOPE)
  set(TROUPE_CUDA_GENERATE "--generate-code=arch=compute_${oldest},code=[${targets}]" PARENT_SCOPE)
endfunction()

if(CMAKE_CUDA_ARCHITECTURES)
  message(FATAL_ERROR "CMAKE_CUDA_ARCHITECTURES=${CMAKE_CUDA_ARCHITECTURES}: use TROUPE_CUDA_ARCHITECTURES instead (docs/setup.md#cuda)")
endif()
set(CMAKE_CUDA_ARCHITECTURES OFF) # CMake adds no options of its own
if(TROUPE_EMULATE_CUDA)
  set(TROUPE_CUDA_CODE 90) # the emulated GPU's
  set(TROUPE_CUDA_PTX 0)
else()
  troupe_select_architectures()
endif()
