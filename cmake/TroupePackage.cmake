# `cpack` in a build tree makes troupe_VERSION_ARCHITECTURE.deb of the component `program`: `make
# package`. dpkg-shlibdeps finds the linked libraries as dependencies. CUDA's runtime is linked
# statically, and CUDA's other libraries are opened at run time if they exist.
set(packaging "${PROJECT_SOURCE_DIR}/packaging/debian")

execute_process(COMMAND dpkg --print-architecture OUTPUT_VARIABLE architecture
  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE no_dpkg)
if(no_dpkg)
  return()
endif()

# DEBFULLNAME and DEBEMAIL name the packager, as for Debian's tools.
set(packer "troupe <root@localhost>")
if(DEFINED ENV{DEBFULLNAME} AND DEFINED ENV{DEBEMAIL})
  set(packer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME troupe)
set(CPACK_PACKAGE_CONTACT "${packer}")
set(CPACK_DEBIAN_FILE_NAME "troupe_${PROJECT_VERSION}_${architecture}.deb")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_SOURCE_DIR}/build")
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};troupe;program;/")
set(CPACK_STRIP_FILES ON)
# Files below /usr refer to their installed paths, not to the staged ones.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "neural-network trainer built from cooperating actors")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"One program, started with a config file, trains models of images and tables on
the host's processor, on GPUs and on several hosts, data-parallel or sharded.
Daemons run as systemd services, drain, and resume from checkpoints; Prometheus
and Grafana monitor every step.
.
GPUs need NVIDIA's driver, cuDNN, cuBLAS and NCCL, which are looked up
when a job starts: troupe doctor lists those that it finds.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Programs that the scripts run.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openssl, curl, ca-certificates")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "npm, prometheus")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${packaging}/conffiles;${packaging}/postinst;${packaging}/prerm")

# The package contains the licences of statically linked code.
if(TROUPE_HAVE_CUDA)
  set(cuda_copyright "
Files: usr/bin/troupe
Copyright: NVIDIA Corporation
License: CUDA-EULA
 Contains the CUDA runtime library, linked statically, which the CUDA Toolkit End
 User License Agreement (https://docs.nvidia.com/cuda/eula/) lets programs
 distribute (Attachment A). Built with CUDA=OFF the package is free of it.
")
endif()
configure_file("${packaging}/copyright.in" "${PROJECT_BINARY_DIR}/packaging/copyright" @ONLY)
configure_file("${packaging}/tree.cmake.in" "${PROJECT_BINARY_DIR}/packaging/tree.cmake" @ONLY)
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_BINARY_DIR}/packaging/tree.cmake")
include(CPack)
