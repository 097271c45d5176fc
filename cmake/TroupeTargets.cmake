# troupe_library(NAME SOURCES ... [PUBLIC libs...] [PRIVATE libs...] [HEADERS files...])
#
# One static library per folder. Headers are included as "troupe/FOLDER/header.hpp"; the include path
# holds one link per folder and is handed on only by linking, so an include against the arrows of the
# design does not compile. HEADERS: those that are installed, where it is not all public ones.
function(troupe_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE;HEADERS" ${ARGN})
  add_library(troupe_${name} STATIC ${arg_SOURCES})
  add_library(troupe::${name} ALIAS troupe_${name})
  set(include_dir "${PROJECT_BINARY_DIR}/include/${name}")
  file(MAKE_DIRECTORY "${include_dir}/troupe")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${include_dir}/troupe/${name}" SYMBOLIC)
  target_include_directories(troupe_${name} PUBLIC "$<BUILD_INTERFACE:${include_dir}>")
  target_compile_features(troupe_${name} PUBLIC cxx_std_20)
  target_link_libraries(troupe_${name} PUBLIC ${arg_PUBLIC}
    PRIVATE $<BUILD_INTERFACE:troupe_compile_options> ${arg_PRIVATE})
  set_target_properties(troupe_${name} PROPERTIES EXPORT_NAME ${name} TROUPE_HEADERS "${arg_HEADERS}")
  set_property(GLOBAL APPEND PROPERTY TROUPE_FOLDERS ${name})
endfunction()

# The instruction sets below this processor's best, as TROUPE_ISA calls them: the tests of the host
# device run at each, too. Looked up where it is built, as a test's name says what it ran with.
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

# troupe_also_labelled(FOLDER TESTS LABELS [TIMEOUT seconds]): the folder's test cases whose names match have these labels, a list.
# Two are more than what catch_discover_tests hands on can have.
function(troupe_also_labelled name tests labels)
  cmake_parse_arguments(arg "" "TIMEOUT" "" ${ARGN})
  if(arg_TIMEOUT)
    set(arg_TIMEOUT "TIMEOUT ${arg_TIMEOUT}")
  endif()
  string(MAKE_C_IDENTIFIER "${name}_${labels}" file)
  set(file "${CMAKE_CURRENT_BINARY_DIR}/${file}.cmake")
  file(WRITE "${file}" "foreach(test IN LISTS troupe_${name}_tests_TESTS)
  if(test MATCHES [[${tests}]])
    set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${labels}\" ${arg_TIMEOUT})
  endif()
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${file}")
endfunction()

# troupe_test(FOLDER SOURCES ... [LIBRARIES ...] [LABEL label] [TIMEOUT seconds] [ENVIRONMENT name=value]
#   [AT_EVERY_LEVEL [spec]] [LEVELS_LABEL label] [LONG names] [EXHAUSTIVE names] [FUZZED] [COMPUTES])
#
# One Catch2 program per folder; every test case becomes a ctest test. The label is the folder unless
# another is given. AT_EVERY_LEVEL: the test cases (those that Catch2 takes the spec for) also run at
# each lower instruction set, whose name is in theirs: "cpu [avx2]: ...", and whose label may be another. FUZZED: test cases of mutated files, whose
# names have the word, have the label fuzz, too; those whose names match LONG, the label long: they take minutes. Those
# that match EXHAUSTIVE have the label exhaustive: they show for more strategies what a long test shows, and CI omits them.
# COMPUTES: its own loops, as those of a formula that is compared with, take more time than their compilation.
function(troupe_test name)
  cmake_parse_arguments(arg "COMPUTES;FUZZED" "LABEL;LEVELS_LABEL;LONG;EXHAUSTIVE;TIMEOUT;ENVIRONMENT" "SOURCES;LIBRARIES;AT_EVERY_LEVEL" ${ARGN})
  add_executable(troupe_${name}_tests ${arg_SOURCES})
  target_link_libraries(troupe_${name}_tests PRIVATE ${arg_LIBRARIES} troupe_source_tree troupe_compile_options
    $<IF:$<BOOL:${arg_COMPUTES}>,troupe_quick_options,troupe_test_options> Catch2::Catch2WithMain)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(TROUPE_SANITIZE) # which makes the interpreter ten times slower
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL ${name})
  endif()
  # What devices.kind auto takes is the host, also where there is a GPU.
  if(NOT arg_ENVIRONMENT)
    set(arg_ENVIRONMENT CUDA_VISIBLE_DEVICES=-1)
  endif()
  # Properties are pairs, of one value each: with none or two, those behind would be other ones, and
  # skips failures.
  catch_discover_tests(troupe_${name}_tests TEST_PREFIX "${name}: " DISCOVERY_MODE PRE_TEST
    PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LABEL} ENVIRONMENT ${arg_ENVIRONMENT})
  if(arg_FUZZED) # TROUPE_FUZZ may take its time
    troupe_also_labelled(${name} mutated "${arg_LABEL};fuzz" TIMEOUT 3600)
  endif()
  if(arg_LONG)
    troupe_also_labelled(${name} "${arg_LONG}" "${arg_LABEL};long")
  endif()
  if(arg_EXHAUSTIVE)
    troupe_also_labelled(${name} "${arg_EXHAUSTIVE}" "${arg_LABEL};exhaustive")
  endif()
  if(NOT arg_LEVELS_LABEL)
    set(arg_LEVELS_LABEL ${arg_LABEL})
  endif()
  if(arg_AT_EVERY_LEVEL OR "AT_EVERY_LEVEL" IN_LIST arg_KEYWORDS_MISSING_VALUES)
    foreach(level ${TROUPE_LOWER_LEVELS})
      catch_discover_tests(troupe_${name}_tests TEST_PREFIX "${name} [${level}]: " DISCOVERY_MODE PRE_TEST
        TEST_SPEC ${arg_AT_EVERY_LEVEL} EXTRA_ARGS --name ${level} # by which Catch2 tells the lists apart, too
        PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS ${arg_LEVELS_LABEL} ENVIRONMENT TROUPE_ISA=${level})
    endforeach()
  endif()
endfunction()
