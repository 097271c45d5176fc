# `cmake --install BUILD --prefix DIR`: a tree that can be moved as a whole. Libraries of ours are
# static; the program needs only those of the distribution.
include(GNUInstallDirs)
if(TARGET troupe)
  set_target_properties(troupe PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS troupe RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
foreach(folder configs dashboards)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION "${CMAKE_INSTALL_DATADIR}/troupe"
    OPTIONAL PATTERN "CMakeLists.txt" EXCLUDE)
endforeach()
# Where systemd looks, whatever the library directory is called here.
install(FILES "${PROJECT_SOURCE_DIR}/packaging/troupe-node.service" DESTINATION lib/systemd/system)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" "${PROJECT_SOURCE_DIR}/CHANGELOG.md"
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")
