# `cmake --install BUILD --prefix DIR`: installs a relocatable tree. Our libraries are static; the
# program only needs libraries of the distribution. Component `program`: everything except
# TroupeDevelopment.
include(GNUInstallDirs)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)
if(TARGET troupe)
  set_target_properties(troupe PROPERTIES INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  install(TARGETS troupe RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
# The folders that man and the shells search. Debian's zsh searches other folders below /usr than
# below /usr/local.
set(completion "${TROUPE_MANUAL}/completion")
install(DIRECTORY "${TROUPE_MANUAL}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" FILES_MATCHING PATTERN "*.1")
install(DIRECTORY "${TROUPE_MANUAL}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}/man5" FILES_MATCHING PATTERN "*.5")
install(FILES "${completion}/troupe.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME troupe)
foreach(folder site-functions vendor-completions)
  install(FILES "${completion}/_troupe" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/${folder}")
endforeach()
install(FILES "${completion}/troupe.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")

set(data "${CMAKE_INSTALL_DATADIR}/troupe")
foreach(folder configs dashboards)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}" DESTINATION "${data}" PATTERN "CMakeLists.txt" EXCLUDE)
endforeach()

install(FILES "${PROJECT_SOURCE_DIR}/packaging/node.yaml" DESTINATION "${data}")

# install_link(TARGET LINK): installs a relative link, which survives a move; both are below the
# prefix.
function(install_link target link)
  cmake_path(GET link PARENT_PATH folder)
  cmake_path(GET link FILENAME name)
  cmake_path(RELATIVE_PATH target BASE_DIRECTORY "${folder}" OUTPUT_VARIABLE relative)
  file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/links/${folder}")
  file(CREATE_LINK "${relative}" "${PROJECT_BINARY_DIR}/links/${link}" SYMBOLIC)
  install(FILES "${PROJECT_BINARY_DIR}/links/${link}" DESTINATION "${folder}")
endfunction()

# The scripts have the layout of the source tree, beside the files they need. bin/ has links with
# unique names.
set(tools lib/troupe/tools)
foreach(tool fetch-data make-certs)
  install(PROGRAMS "${PROJECT_SOURCE_DIR}/tools/${tool}" DESTINATION ${tools})
  install_link("${tools}/${tool}" "${CMAKE_INSTALL_BINDIR}/troupe-${tool}")
endforeach()
install(FILES "${PROJECT_SOURCE_DIR}/tools/lib/common.sh" "${PROJECT_SOURCE_DIR}/tools/lib/html_text.py" DESTINATION ${tools}/lib)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/tools/checksums" DESTINATION ${tools})

# script_page(TOOL NAME): makes the manual page of a script from its --help output.
function(script_page tool name)
  set(script "${PROJECT_SOURCE_DIR}/tools/${tool}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
  execute_process(COMMAND "${script}" --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "${script}" "troupe-${tool}" help "${help}")
  string(REGEX MATCH "^([^\n]*)\n\n(.*)$" help "${help}")
  string(TOUPPER "troupe-${tool}" title)
  string(CONCAT page ".TH ${title} 1 \"\" \"troupe ${PROJECT_VERSION}\" \"troupe\"\n"
    ".SH NAME\ntroupe-${tool} - ${name}\n.SH SYNOPSIS\n${CMAKE_MATCH_1}\n.SH DESCRIPTION\n.nf\n${CMAKE_MATCH_2}.fi\n")
  string(REPLACE "-" "\\-" page "${page}")
  file(WRITE "${PROJECT_BINARY_DIR}/script-pages/troupe-${tool}.1" "${page}")
  install(FILES "${PROJECT_BINARY_DIR}/script-pages/troupe-${tool}.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
endfunction()
script_page(fetch-data "fetches CIFAR-10, MNIST, Fashion-MNIST, texts or a tokenizer, and verifies files")
script_page(make-certs "makes certificates for daemons, to try TLS with")
install(TARGETS cifar10-from-png RUNTIME DESTINATION ${tools})

# Keeps the layout of the source tree: pages link to each other and to configs and dashboards.
set(pages README.md CONTRIBUTING.md CHANGELOG.md LICENSE)
list(TRANSFORM pages PREPEND "${PROJECT_SOURCE_DIR}/")
install(FILES ${pages} DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs" "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
foreach(folder configs dashboards)
  install_link("${data}/${folder}" "${CMAKE_INSTALL_DOCDIR}/${folder}")
endforeach()
install_link("${CMAKE_INSTALL_DOCDIR}/docs" "${data}/docs")

# systemd searches lib/, whatever the library directory is. The unit contains paths of pages, which
# are only known at installation: --prefix may differ from the configured one.
set(unit lib/systemd/system/troupe-node@.service)
install(FILES "${PROJECT_SOURCE_DIR}/packaging/troupe-node@.service" DESTINATION lib/systemd/system)
install(CODE "
  set(unit \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${unit}\")
  file(READ \"\${unit}\" text)
  string(REPLACE \"file:///usr/local/share/doc/troupe/\" \"file://\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/\" text \"\${text}\")
  file(WRITE \"\${unit}\" \"\${text}\")")

# An emulated GPU is only for tests.
if(NOT TROUPE_EMULATE_CUDA)
  include(TroupeDevelopment)
endif()
