# The kernel sources, once for each instruction set. Only these files are compiled for a newer
# processor than the oldest, and they hold no inline functions that the linker could hand to others.
file(GLOB TROUPE_KERNEL_SOURCES CONFIGURE_DEPENDS kernels/*.cpp)
list(FILTER TROUPE_KERNEL_SOURCES EXCLUDE REGEX "/kernels\\.cpp$") # which chooses between them
list(FILTER TROUPE_KERNEL_SOURCES EXCLUDE REGEX "_amx\\.cpp$") # for what few processors have
set(TROUPE_KERNEL_OBJECTS)

# troupe_kernel_variant(NAME [SOURCES file...] [OPTIONS option...])
# Without SOURCES it has all of them, else those that gain by what the others lack.
function(troupe_kernel_variant variant)
  cmake_parse_arguments(arg "" "" "SOURCES;OPTIONS" ${ARGN})
  if(NOT arg_SOURCES)
    set(arg_SOURCES ${TROUPE_KERNEL_SOURCES})
  endif()
  add_library(troupe_kernels_${variant} OBJECT ${arg_SOURCES})
  # Each source by itself, as they are compiled for processors that others are not for.
  set_target_properties(troupe_kernels_${variant} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(troupe_kernels_${variant} PRIVATE troupe::core troupe_compile_options)
  target_compile_definitions(troupe_kernels_${variant} PRIVATE TROUPE_VARIANT=${variant})
  # Vectorized in debug builds too: tests of whole models would take minutes otherwise. No
  # -ffast-math: sums keep their order, and results do not depend on the compiler's mood. Threaded
  # jumps make masks of clamps that follow one another: loops of e^x take a third less without.
  target_compile_options(troupe_kernels_${variant} PRIVATE -O3 -fno-math-errno -fno-trapping-math ${arg_OPTIONS})
  if(CMAKE_UNITY_BUILD) # else clang's tools read the compile commands, and refuse GCC's option
    target_compile_options(troupe_kernels_${variant} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-thread-jumps>)
  endif()
  set(TROUPE_KERNEL_OBJECTS ${TROUPE_KERNEL_OBJECTS} $<TARGET_OBJECTS:troupe_kernels_${variant}> PARENT_SCOPE)
endfunction()

troupe_kernel_variant(baseline)
set(TROUPE_X86_KERNELS OFF)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(TROUPE_X86_KERNELS ON)
  troupe_kernel_variant(v3 OPTIONS -march=x86-64-v3)
  set(v4_options -march=x86-64-v4 -mprefer-vector-width=512)
  troupe_kernel_variant(v4 OPTIONS ${v4_options})
  troupe_kernel_variant(v4_bf16 SOURCES kernels/winograd_bf16.cpp OPTIONS ${v4_options} -mavx512bf16)
  troupe_kernel_variant(v4_amx
    SOURCES
      kernels/attention_amx.cpp
      kernels/logits_amx.cpp
      kernels/weight_gradient_amx.cpp
    OPTIONS ${v4_options} -mavx512bf16 -mamx-tile -mamx-bf16)
endif()
