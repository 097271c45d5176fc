set(TROUPE_CONFORMANCE_TESTS
  ${CMAKE_CURRENT_LIST_DIR}/failures_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/group.cpp
  ${CMAKE_CURRENT_LIST_DIR}/results_test.cpp)
