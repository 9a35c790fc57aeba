# The programs, the headers below include/heed, the library, and the package that find_package(heed) reads.
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/heed)

install(TARGETS train inspect)
install(TARGETS heed EXPORT heed)
install(DIRECTORY autograd files nn optim data DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed FILES_MATCHING PATTERN "*.h"
        PATTERN json.h EXCLUDE PATTERN cpu EXCLUDE)
install(FILES heed.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/heed)

install(EXPORT heed NAMESPACE heed:: FILE heedTargets.cmake DESTINATION ${package})
write_basic_package_version_file(heedConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES cmake/heedConfig.cmake ${PROJECT_BINARY_DIR}/heedConfigVersion.cmake DESTINATION ${package})
