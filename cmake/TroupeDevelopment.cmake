# The component `development`: headers, libraries and targets for programs with custom models and
# data sets (docs/extending.md). It contains no path of this machine except the distribution's.
include(CMakePackageConfigHelpers)
set(package "${CMAKE_INSTALL_LIBDIR}/cmake/troupe")

# public_headers(FOLDER HEADERS RESULT): HEADERS, or by default all headers of the folder outside of
# detail/; and all that they include from the folder, also from detail/, because classes have
# members of such types.
function(public_headers folder headers result)
  if(NOT headers)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/${folder}"
      "${PROJECT_SOURCE_DIR}/${folder}/*.hpp")
    list(FILTER headers EXCLUDE REGEX "(^|/)detail/")
    if(NOT TROUPE_HAVE_CUDA) # backends of collectives that are only built with CUDA
      list(FILTER headers EXCLUDE REGEX "^nccl/|^shared_device/cuda_")
    endif()
  endif()
  set(found)
  while(headers)
    list(POP_FRONT headers header)
    if(header IN_LIST found)
      continue()
    endif()
    list(APPEND found "${header}")
    file(STRINGS "${PROJECT_SOURCE_DIR}/${folder}/${header}" includes REGEX "^#include \"${folder}/")
    list(TRANSFORM includes REPLACE "^#include \"${folder}/([^\"]*)\".*" "\\1")
    list(APPEND headers ${includes})
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# Installed headers include each other as "troupe/FOLDER/header.hpp", so that a program only needs
# PREFIX/include.
get_property(folders GLOBAL PROPERTY TROUPE_FOLDERS)
set(installed)
foreach(folder ${folders})
  get_target_property(headers troupe_${folder} TROUPE_HEADERS)
  public_headers(${folder} "${headers}" headers)
  foreach(header ${headers})
    cmake_path(GET header PARENT_PATH around)
    install(FILES "${PROJECT_SOURCE_DIR}/${folder}/${header}" COMPONENT development
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/troupe/${folder}/${around}")
    list(APPEND installed "${folder}/${header}")
  endforeach()
endforeach()
list(JOIN folders "|" folder_names)
install(CODE "
  foreach(header ${installed})
    set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}/troupe/\${header}\")
    file(READ \"\${file}\" text)
    string(REGEX REPLACE \"#include \\\"(${folder_names})/\" \"#include \\\"troupe/\\\\1/\" text \"\${text}\")
    file(WRITE \"\${file}\" \"\${text}\")
  endforeach()" COMPONENT development)

list(TRANSFORM folders PREPEND troupe_ OUTPUT_VARIABLE libraries)
if(TROUPE_HAVE_CUDA)
  set_target_properties(troupe_cuda_runtime PROPERTIES EXPORT_NAME cuda_runtime)
  list(APPEND libraries troupe_cuda_runtime)
endif()
if(TROUPE_SANITIZE) # the program must link the sanitizer's runtime
  target_link_options(troupe_core INTERFACE "-fsanitize=${TROUPE_SANITIZE}")
endif()
install(TARGETS ${libraries} EXPORT troupe COMPONENT development
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT troupe FILE troupeTargets.cmake NAMESPACE troupe:: DESTINATION "${package}" COMPONENT development)

# Bundles the CAF built by tools/bootstrap, which is not installed elsewhere.
set(TROUPE_BUNDLED_CAF lib/troupe/caf)
cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${CAF_DIR}" NORMALIZE caf_is_ours)
if(caf_is_ours)
  cmake_path(SET caf NORMALIZE "${CAF_DIR}/../../..")
  install(DIRECTORY "${caf}/include/caf" DESTINATION ${TROUPE_BUNDLED_CAF}/include COMPONENT development)
  install(DIRECTORY "${caf}/lib/cmake/CAF" DESTINATION ${TROUPE_BUNDLED_CAF}/lib/cmake COMPONENT development)
  file(GLOB caf_libraries "${caf}/lib/libcaf_*")
  install(FILES ${caf_libraries} DESTINATION ${TROUPE_BUNDLED_CAF}/lib COMPONENT development)
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/troupeConfig.cmake.in" "${PROJECT_BINARY_DIR}/troupeConfig.cmake"
  INSTALL_DESTINATION "${package}" PATH_VARS TROUPE_BUNDLED_CAF)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/troupeConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/troupeConfig.cmake" "${PROJECT_BINARY_DIR}/troupeConfigVersion.cmake"
  "${PROJECT_SOURCE_DIR}/cmake/TroupeLibraries.cmake" DESTINATION "${package}" COMPONENT development)
