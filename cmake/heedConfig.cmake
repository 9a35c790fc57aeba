include(CMakeFindDependencyMacro)
find_dependency(fmt)
find_dependency(OpenMP)
include(${CMAKE_CURRENT_LIST_DIR}/heedTargets.cmake)
