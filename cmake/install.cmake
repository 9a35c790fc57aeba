# Installs the library, the headers below include/heed, the files for find_package(heed) and pkg-config, the programs,
# and examples.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/heed)

# heed::core has an export set of its own, so that find_package(heed COMPONENTS core) needs fmt alone.
get_property(components GLOBAL PROPERTY HEED_COMPONENTS)
get_property(directories GLOBAL PROPERTY HEED_HEADERS)
list(TRANSFORM components PREPEND heed_ OUTPUT_VARIABLE targets)
list(REMOVE_ITEM targets heed_core)
install(TARGETS heed_core EXPORT heed-core)
install(EXPORT heed-core NAMESPACE heed:: FILE heed-coreTargets.cmake DESTINATION ${package})
if(targets)
  install(TARGETS heed ${targets} EXPORT heed)
  install(EXPORT heed NAMESPACE heed:: FILE heedTargets.cmake DESTINATION ${package})
endif()
# Headers in these directories below a component's own are internal.
foreach(directory ${directories})
  install(DIRECTORY ${directory} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed FILES_MATCHING PATTERN "*.h"
          PATTERN internal EXCLUDE PATTERN cpu EXCLUDE PATTERN pipeline EXCLUDE PATTERN hugging_face EXCLUDE PATTERN gguf EXCLUDE)
endforeach()
install(FILES core.h version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed)
if(targets)
  install(FILES heed.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed)
endif()

# A program that links the static libraries must also link their dependencies. They are named as libraries, not as pkg-config
# packages: Debian 13's sentencepiece.pc requires protobuf-lite, on which its package does not depend.
get_target_property(type heed_core TYPE)
file(RELATIVE_PATH HEED_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" HEED_PREFIX ${HEED_PREFIX})
# heed_pkg_config(NAME DESCRIPTION REQUIRES LIBRARY...): installs NAME.pc.
function(heed_pkg_config name HEED_DESCRIPTION HEED_REQUIRES)
  set(HEED_NAME ${name})
  list(TRANSFORM ARGN REPLACE "^([^-].*)" "-l\\1" OUTPUT_VARIABLE HEED_LIBS)
  list(JOIN HEED_LIBS " " HEED_LIBS)
  configure_file(cmake/heed.pc.in ${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
set(needs ${heed_needs})
if(HEED_SANITIZE)
  list(APPEND needs -fsanitize=${HEED_SANITIZE})
endif()
if(type STREQUAL STATIC_LIBRARY)
  list(APPEND needs ${OpenMP_CXX_FLAGS} ${CMAKE_DL_LIBS})
endif()
heed_pkg_config(heed-core "Tensors with reverse-mode differentiation, layers and optimisers" fmt heed-core ${needs})
if(targets)
  list(TRANSFORM targets REPLACE heed_ heed- OUTPUT_VARIABLE libraries)
  list(REVERSE libraries)  # each before those that it links
  set(requires heed-core)
  if(type STREQUAL STATIC_LIBRARY)
    if(absl)
      string(APPEND requires ", absl_status")
    endif()
    list(APPEND libraries sentencepiece sentencepiece_train utf8proc pcre2-8 z)
    if(HEED_MPI)
      list(APPEND libraries ${MPI_CXX_LIBRARIES})
    endif()
  endif()
  heed_pkg_config(heed "${PROJECT_DESCRIPTION}" "${requires}" ${libraries})
endif()

configure_file(cmake/heedConfig.cmake.in heedConfig.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heedConfig.cmake ${PROJECT_BINARY_DIR}/heedConfigVersion.cmake
        DESTINATION ${package})

if(HEED_BUILD_PROGRAMS)
  install(TARGETS heed_train heed_inspect)
  install(DIRECTORY examples learn DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS)
  install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
          FILES_MATCHING PATTERN "*.md" PATTERN "*.ipynb" PATTERN "*.png" PATTERN "*.svg" PATTERN "*.json")  # what the documents link to
  install(FILES bench/NOTES.md bench/operations.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
  install(FILES README.md README.zh-CN.md CITATION.cff CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE toy.yaml
          DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

# A package for others must run on any of their processors.
if(PROJECT_IS_TOP_LEVEL AND (HEED_PORTABLE OR NOT HEED_MARCH))
  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGE_NAME heed)
  set(CPACK_PACKAGE_CONTACT "heed maintainers")
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  # Library packages change their names between releases (libfmt9, libfmt10), so a package fits the release that built
  # it.
  cmake_host_system_information(RESULT system QUERY DISTRIB_INFO)
  set(CPACK_DEBIAN_PACKAGE_RELEASE ${system_ID}${system_VERSION_ID})
  set(CPACK_DEBIAN_PACKAGE_SECTION science)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  set(CPACK_DEBIAN_PACKAGE_DEPENDS "libopenblas0-pthread | libopenblas0")  # loaded when a program starts
  set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, pkg-config, libfmt-dev")  # to build on the library
  include(CPack)
endif()
