# The programs: views (what both print), train and inspect, each a library without its main file, so that tests can call it. They
# see the headers of what they link, like the library's components (cmake/components.cmake). The heavy computing happens in the
# library, so they need less optimisation and compile faster.
find_package(yaml-cpp REQUIRED)
find_package(cxxopts REQUIRED)

# heed_program_library(NAME DIRECTORIES DIRECTORY... LINKS TARGET...)
function(heed_program_library name)
  cmake_parse_arguments(PARSE_ARGV 1 its "" "" "DIRECTORIES;LINKS")
  list(TRANSFORM its_DIRECTORIES APPEND "/*.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  list(FILTER sources EXCLUDE REGEX "/${name}/${name}\\.cpp$")
  heed_headers(${name} ${name})
  add_library(heed_${name}_library STATIC ${sources})
  heed_options(heed_${name}_library)
  target_include_directories(heed_${name}_library PUBLIC ${PROJECT_BINARY_DIR}/components/${name})
  target_compile_definitions(heed_${name}_library PUBLIC CXXOPTS_NO_REGEX "CXXOPTS_VECTOR_DELIMITER='\\n'")
  target_compile_options(heed_${name}_library PUBLIC $<$<CONFIG:Release>:-Og>)
  target_link_libraries(heed_${name}_library PUBLIC ${its_LINKS} nlohmann_json::nlohmann_json)
  set_target_properties(heed_${name}_library PROPERTIES UNITY_BUILD ${HEED_JOIN_SOURCES} UNITY_BUILD_BATCH_SIZE 25
                        POSITION_INDEPENDENT_CODE ON)  # the Python module links it, too
endfunction()
heed_program_library(views DIRECTORIES views LINKS heed)
target_precompile_headers(heed_views_library PRIVATE <heed/heed.h> <nlohmann/json.hpp> <algorithm> <filesystem>)
heed_program_library(inspect DIRECTORIES inspect inspect/commands inspect/page inspect/serve
                     LINKS heed_views_library heed_page_source cxxopts::cxxopts)
heed_program_library(train DIRECTORIES train train/config LINKS heed_views_library yaml-cpp cxxopts::cxxopts)
foreach(name train inspect)
  heed_reuse_headers(heed_${name}_library heed_views_library)
endforeach()
add_library(heed_programs INTERFACE)  # for tests and examples
target_link_libraries(heed_programs INTERFACE heed_train_library heed_inspect_library)

# The page's sources as a C++ array.
file(GLOB sources CONFIGURE_DEPENDS inspect/page/*.js inspect/page/*.css inspect/page/*.html)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/page_source.cpp DEPENDS ${sources} inspect/page/embed.cmake VERBATIM
                   COMMAND ${CMAKE_COMMAND} -D INTO=${PROJECT_BINARY_DIR}/page_source.cpp
                           -P ${PROJECT_SOURCE_DIR}/inspect/page/embed.cmake)
add_library(heed_page_source STATIC ${PROJECT_BINARY_DIR}/page_source.cpp)
set_target_properties(heed_page_source PROPERTIES POSITION_INDEPENDENT_CODE ON)
heed_options(heed_page_source)
target_include_directories(heed_page_source PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_features(heed_page_source PRIVATE cxx_std_20)

# In the build directory the programs are also available as train and inspect.
foreach(program train inspect)
  add_executable(heed_${program} ${program}/${program}.cpp)
  heed_options(heed_${program})
  target_link_libraries(heed_${program} PRIVATE heed_${program}_library)
  heed_reuse_headers(heed_${program} heed_views_library)
  set_target_properties(heed_${program} PROPERTIES OUTPUT_NAME heed-${program}
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_custom_command(TARGET heed_${program} POST_BUILD VERBATIM BYPRODUCTS ${PROJECT_BINARY_DIR}/${program}
                     COMMAND ${CMAKE_COMMAND} -E create_symlink heed-${program} ${PROJECT_BINARY_DIR}/${program})
endforeach()
add_custom_target(heed_run_toy COMMAND heed_train --config toy.yaml
                  COMMENT "train --config toy.yaml"
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)

if(HEED_BUILD_EXAMPLES)
  file(GLOB sources CONFIGURE_DEPENDS examples/*.cpp examples/papers/*.cpp)
  add_custom_target(examples)
  foreach(source ${sources})
    cmake_path(GET source STEM name)
    add_executable(example_${name} ${source})
    heed_options(example_${name})
    target_link_libraries(example_${name} PRIVATE heed_views_library $<$<STREQUAL:${name},three_matrices>:heed_train_library>)
    target_include_directories(example_${name} PRIVATE ${PROJECT_SOURCE_DIR})
    heed_reuse_headers(example_${name} heed_views_library)
    set_target_properties(example_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    add_dependencies(examples example_${name})
  endforeach()
endif()

if(HEED_BUILD_BENCH)
  file(GLOB sources CONFIGURE_DEPENDS bench/*.cpp)
  list(FILTER sources EXCLUDE REGEX /bench/bench\\.cpp$)
  add_library(heed_bench_rows STATIC EXCLUDE_FROM_ALL ${sources})
  heed_options(heed_bench_rows)
  target_include_directories(heed_bench_rows PUBLIC ${PROJECT_SOURCE_DIR})
  # Measurements discard their results, which Tensor's [[nodiscard]] would report.
  target_compile_options(heed_bench_rows PUBLIC $<$<CONFIG:Release>:-Og> -Wno-unused-result)
  target_compile_definitions(heed_bench_rows PUBLIC CXXOPTS_NO_REGEX)
  target_link_libraries(heed_bench_rows PUBLIC heed nlohmann_json::nlohmann_json cxxopts::cxxopts)
  set_target_properties(heed_bench_rows PROPERTIES UNITY_BUILD ${HEED_JOIN_SOURCES})
  add_executable(heed_bench EXCLUDE_FROM_ALL bench/bench.cpp)
  heed_options(heed_bench)
  target_link_libraries(heed_bench PRIVATE heed_bench_rows)
  set_target_properties(heed_bench PROPERTIES OUTPUT_NAME bench RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_custom_target(heed_run_bench COMMAND heed_bench DEPENDS heed_train
                    COMMENT "bench, beside PyTorch where $PYTHON has it, and JAX where $JAX_PYTHON has"
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
endif()
