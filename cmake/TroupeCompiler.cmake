# Language level, warnings and sanitizers of all our targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# No -march here: the program runs on any x86-64. Kernels get their instruction set per file, in cpu/.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(TROUPE_CCACHE ccache)
if(TROUPE_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TROUPE_CCACHE}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${TROUPE_CCACHE}")
endif()

add_library(troupe_compile_options INTERFACE)
target_compile_options(troupe_compile_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wno-missing-field-initializers -Wpedantic -Wshadow -Wnon-virtual-dtor>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TROUPE_WERROR}>>:-Werror>)
# g++ 12 warns about std::string's code (its bug 105329), only at -O3.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(troupe_compile_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# Its -Wmaybe-uninitialized reports temporaries with many strings as uninitialized: a warning, but
# not an error.
if(TROUPE_WERROR AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(troupe_compile_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-error=maybe-uninitialized>)
endif()
# Few and large: a translation unit's time mostly goes to its includes.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 24)
# Files that are compiled as one must not shadow each other's names. clang-tidy, which reads each
# file by itself, still checks shadowing.
if(CMAKE_UNITY_BUILD)
  target_compile_options(troupe_compile_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow -Wno-subobject-linkage>)
endif()
# For code off the step's path, and for actors, whose microseconds are thread wake-ups
# (bench_unit_scheduling measures the same with -O2): compiles in two thirds of the time.
add_library(troupe_quick_options INTERFACE)
target_compile_options(troupe_quick_options INTERFACE
  $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
# For tests, which mostly run the tested code: a third less time again.
add_library(troupe_test_options INTERFACE)
target_compile_options(troupe_test_options INTERFACE
  $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O0>)
# For code on the step's path with short loops: compiles an eighth faster.
add_library(troupe_short_loops_options INTERFACE)
target_compile_options(troupe_short_loops_options INTERFACE
  $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O2>)
if(TROUPE_SANITIZE)
  # Undefined behaviour fails the test instead of only printing a message.
  target_compile_options(troupe_compile_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TROUPE_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer>")
  target_link_options(troupe_compile_options INTERFACE -fsanitize=${TROUPE_SANITIZE})
endif()
