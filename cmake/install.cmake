# Installs the library, the headers below include/heed, the files for find_package(heed) and pkg-config, the programs,
# and examples.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/heed)

install(TARGETS heed EXPORT heed)
install(DIRECTORY autograd files nn optim data models distributed explain DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed
        FILES_MATCHING PATTERN "*.h" PATTERN json.h EXCLUDE PATTERN config_json.h EXCLUDE PATTERN cpu EXCLUDE
        PATTERN ascii.h EXCLUDE PATTERN description.h EXCLUDE PATTERN safetensors_header.h EXCLUDE PATTERN model_size.h EXCLUDE
        PATTERN pipeline EXCLUDE PATTERN hugging_face EXCLUDE PATTERN gguf EXCLUDE PATTERN flat_tensors.h EXCLUDE
        PATTERN transport.h EXCLUDE PATTERN watch.h EXCLUDE PATTERN normal_form.h EXCLUDE PATTERN wrapped_names.h EXCLUDE)
install(FILES run/dump.h run/metrics.h run/run_writer.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed/run)
install(FILES heed.h version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed)
install(EXPORT heed NAMESPACE heed:: FILE heedTargets.cmake DESTINATION ${package})

# A program that links the static library must also link the library's dependencies. They are named as libraries, not as
# pkg-config packages: Debian 13's sentencepiece.pc requires protobuf-lite, on which its package does not depend.
get_target_property(type heed TYPE)
set(HEED_REQUIRES fmt)
set(HEED_LIBS ${heed_needs})
if(type STREQUAL STATIC_LIBRARY)
  if(absl)
    string(APPEND HEED_REQUIRES ", absl_status")
  endif()
  list(APPEND HEED_LIBS sentencepiece sentencepiece_train utf8proc pcre2-8 ${OpenMP_CXX_FLAGS} ${CMAKE_DL_LIBS})
  list(TRANSFORM HEED_LIBS REPLACE "^([^-].*)" "-l\\1")
endif()
if(HEED_SANITIZE)
  list(APPEND HEED_LIBS -fsanitize=${HEED_SANITIZE})
endif()
if(HEED_MPI AND type STREQUAL STATIC_LIBRARY)
  list(APPEND HEED_LIBS ${MPI_CXX_LIBRARIES})
endif()
list(JOIN HEED_LIBS " " HEED_LIBS)
file(RELATIVE_PATH HEED_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
string(REGEX REPLACE "/$" "" HEED_PREFIX ${HEED_PREFIX})
configure_file(cmake/heed.pc.in heed.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/heed.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_file(cmake/heedConfig.cmake.in heedConfig.cmake @ONLY)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heedConfig.cmake ${PROJECT_BINARY_DIR}/heedConfigVersion.cmake
        DESTINATION ${package})

if(HEED_BUILD_PROGRAMS)
  install(TARGETS heed_train heed_inspect)
  install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
          FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.svg" PATTERN "*.json")  # what the documents link to
  install(FILES bench/NOTES.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
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
