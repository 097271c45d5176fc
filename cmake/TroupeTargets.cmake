# troupe_library(NAME SOURCES ... [PUBLIC libs...] [PRIVATE libs...] [HEADERS files...])
#
# Adds a static library, one for each folder. Includes are paths from the root of the repository, for
# example "core/error.hpp"; tools/lib/arrows.py checks which folders may include which. HEADERS: the
# installed headers; default: all public ones.
function(troupe_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE;HEADERS" ${ARGN})
  add_library(troupe_${name} STATIC ${arg_SOURCES})
  add_library(troupe::${name} ALIAS troupe_${name})
  target_compile_features(troupe_${name} PUBLIC cxx_std_20)
  target_link_libraries(troupe_${name} PUBLIC ${arg_PUBLIC}
    PRIVATE $<BUILD_INTERFACE:troupe_compile_options> ${arg_PRIVATE})
  set_target_properties(troupe_${name} PROPERTIES EXPORT_NAME ${name} TROUPE_HEADERS "${arg_HEADERS}")
  set_property(GLOBAL APPEND PROPERTY TROUPE_FOLDERS ${name})
endfunction()

# The instruction sets below this processor's best, named like values of TROUPE_ISA: the tests of
# the host device also run at each of them. Detected on the build machine, because test names
# contain the instruction set.
set(TROUPE_LOWER_LEVELS)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo processor_flags REGEX "^flags" LIMIT_COUNT 1)
  if(processor_flags MATCHES " avx2 ")
    list(APPEND TROUPE_LOWER_LEVELS baseline)
  endif()
  if(processor_flags MATCHES " avx512bw ")
    list(APPEND TROUPE_LOWER_LEVELS avx2)
  endif()
  if(processor_flags MATCHES " (avx512_bf16|amx_bf16) ")
    list(APPEND TROUPE_LOWER_LEVELS avx512)
  endif()
endif()

# troupe_tagged(NAME TAG PREFIX LABELS PROPERTIES...): makes ctest tests of the test cases of
# troupe_NAME_tests with a Catch2 tag. LABELS is a list: catch_discover_tests only takes one label.
function(troupe_tagged name tag prefix labels)
  set(list troupe_${name}_${tag}_tests)
  catch_discover_tests(troupe_${name}_tests TEST_PREFIX "${prefix}" TEST_SPEC "[${tag}]" TEST_LIST ${list} DISCOVERY_MODE PRE_TEST
    PROPERTIES ${ARGN})
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${name}_${tag}_labels.cmake")
  file(WRITE "${file}" "foreach(test IN LISTS ${list})
  set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${labels}\")
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()

# troupe_test(FOLDER SOURCES ... [LIBRARIES ...] [LABEL label] [TIMEOUT seconds] [ENVIRONMENT name=value]
#   [AT_EVERY_LEVEL [spec]] [LEVELS_LABEL label] [TAGS tag...] [COMPUTES])
#
# Adds a Catch2 program, one for each folder; every test case becomes a ctest test. The label defaults to the folder.
# AT_EVERY_LEVEL: the test cases (those that match the Catch2 spec) also run at each lower instruction set, which becomes
# part of their names: "cpu [avx2]: ...". LEVELS_LABEL: their label, if another. TAGS: the tags of these that the folder's
# test cases have; a tag becomes a second label: long (takes more than ten seconds of a processor), exhaustive (repeats a long
# test for more strategies; CI omits it), fuzz (mutated files; make fuzz runs it with more of them). COMPUTES: its own loops,
# for example of a reference implementation, take longer than their compilation.
function(troupe_test name)
  cmake_parse_arguments(arg "COMPUTES" "LABEL;LEVELS_LABEL;TIMEOUT;ENVIRONMENT" "SOURCES;LIBRARIES;AT_EVERY_LEVEL;TAGS" ${ARGN})
  add_executable(troupe_${name}_tests ${arg_SOURCES})
  target_link_libraries(troupe_${name}_tests PRIVATE ${arg_LIBRARIES} troupe_test_support troupe_compile_options
    $<IF:$<BOOL:${arg_COMPUTES}>,troupe_quick_options,troupe_test_options> Catch2::Catch2WithMain)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(TROUPE_SANITIZE) # makes the interpreter ten times slower
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL ${name})
  endif()
  # Hides GPUs, so that devices.kind auto takes the host.
  if(NOT arg_ENVIRONMENT)
    set(arg_ENVIRONMENT CUDA_VISIBLE_DEVICES=-1)
  endif()
  # A property takes exactly one value: with none or two, the following pairs would shift, and
  # failures would be skipped.
  list(TRANSFORM arg_TAGS REPLACE "(.+)" "~[\\1]" OUTPUT_VARIABLE untagged)
  list(JOIN untagged "" untagged)
  catch_discover_tests(troupe_${name}_tests TEST_PREFIX "${name}: " TEST_SPEC "${untagged}" DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL} ENVIRONMENT ${arg_ENVIRONMENT})
  foreach(tag ${arg_TAGS})
    set(timeout ${arg_TIMEOUT})
    if(tag STREQUAL fuzz) # TROUPE_FUZZ may request many files
      set(timeout 3600)
    endif()
    troupe_tagged(${name} ${tag} "${name}: " "${arg_LABEL};${tag}" TIMEOUT ${timeout} ENVIRONMENT ${arg_ENVIRONMENT})
  endforeach()
  if(NOT arg_LEVELS_LABEL)
    set(arg_LEVELS_LABEL ${arg_LABEL})
  endif()
  if(arg_AT_EVERY_LEVEL OR "AT_EVERY_LEVEL" IN_LIST arg_KEYWORDS_MISSING_VALUES)
    foreach(level ${TROUPE_LOWER_LEVELS})
      catch_discover_tests(troupe_${name}_tests TEST_PREFIX "${name} [${level}]: " DISCOVERY_MODE PRE_TEST
        TEST_SPEC ${arg_AT_EVERY_LEVEL} EXTRA_ARGS --name ${level} # Catch2 also distinguishes the lists by this name
        PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LEVELS_LABEL} ENVIRONMENT TROUPE_ISA=${level})
    endforeach()
  endif()
endfunction()
