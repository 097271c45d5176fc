# A libcuda.so.1 without a device, for machines without a driver: cuDNN proposes engines that are compiled at run time only
# where a driver can be loaded. Not every toolkit has such a stub. It has every function that cuda.h
# names, in each version. Each returns CUDA_ERROR_STUB_LIBRARY (34), except those that load a compiled kernel: with them,
# cuDNN makes plans of such engines, which cannot run.
file(READ "${CUDA_INCLUDE_DIR}/cuda.h" header)
string(REGEX MATCHALL "cu[A-Z][A-Za-z0-9]*(_v[0-9]+)?" functions "${header}")
list(REMOVE_DUPLICATES functions)
set(returning_handles cuLibraryLoadData cuLibraryGetKernel cuKernelGetFunction)
set(succeeding cuLibraryUnload cuKernelSetAttribute cuFuncSetAttribute)
list(REMOVE_ITEM functions ${returning_handles} ${succeeding})
set(code "extern \"C\" {\n")
foreach(function ${functions})
  string(APPEND code "int ${function}() { return 34; }\n")
endforeach()
foreach(function ${returning_handles})
  string(APPEND code "int ${function}(void** handle) { *handle = handle; return 0; }\n")
endforeach()
foreach(function ${succeeding})
  string(APPEND code "int ${function}() { return 0; }\n")
endforeach()
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/driver_stub.cpp" CONTENT "${code}}\n" @ONLY)

add_library(troupe_driver_stub SHARED "${CMAKE_CURRENT_BINARY_DIR}/driver_stub.cpp")
set_target_properties(troupe_driver_stub PROPERTIES OUTPUT_NAME cuda SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/driver_stub")
