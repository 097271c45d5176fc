# Finds everything that tools/bootstrap installs, once. The user's CMAKE_PREFIX_PATH has priority
# over .deps/.
list(APPEND CMAKE_PREFIX_PATH "${PROJECT_SOURCE_DIR}/.deps")
if(TROUPE_SANITIZE MATCHES "thread")
  # ThreadSanitizer must also see CAF's synchronization (tools/bootstrap --tsan).
  list(PREPEND CMAKE_PREFIX_PATH "${PROJECT_SOURCE_DIR}/.deps/tsan")
endif()

include(TroupeLibraries)
if(TROUPE_TESTS)
  find_package(Catch2 3 REQUIRED)
  include(Catch)
  # A real Prometheus for the tests of the metrics endpoint; not needed to build.
  find_program(TROUPE_PROMETHEUS prometheus)
  find_program(TROUPE_PROMTOOL promtool)
  find_program(TROUPE_PUSHGATEWAY prometheus-pushgateway)
  # Reads the files written for TensorBoard.
  find_program(TROUPE_PROTOC protoc)
  # A real browser for the tests of pages.
  find_program(TROUPE_CHROMIUM chromium)
endif()
if(TROUPE_BENCH)
  find_package(benchmark REQUIRED)
endif()

# Debian 12 names the target yaml-cpp, newer releases yaml-cpp::yaml-cpp.
set(TROUPE_YAML_CPP yaml-cpp)
if(TARGET yaml-cpp::yaml-cpp)
  set(TROUPE_YAML_CPP yaml-cpp::yaml-cpp)
endif()
