# The programs. All except their main files is a library, so that tests can call it. The heavy computing happens in
# heed, so the programs need less optimisation and compile faster.
find_package(yaml-cpp REQUIRED)
find_package(cxxopts REQUIRED)

file(GLOB_RECURSE sources CONFIGURE_DEPENDS run/*.cpp train/*.cpp inspect/*.cpp)
list(FILTER sources EXCLUDE REGEX "/(train/train|inspect/inspect|run/(dump|metrics|run_writer))\\.cpp$")
add_library(heed_programs STATIC ${sources} ${PROJECT_BINARY_DIR}/page_source.cpp)
heed_options(heed_programs)
target_compile_definitions(heed_programs PUBLIC CXXOPTS_NO_REGEX "CXXOPTS_VECTOR_DELIMITER='\\n'")
target_compile_options(heed_programs PUBLIC $<$<CONFIG:Release>:-Og>)
target_link_libraries(heed_programs PUBLIC heed yaml-cpp cxxopts::cxxopts nlohmann_json::nlohmann_json)
target_precompile_headers(heed_programs PRIVATE <heed/heed.h> <nlohmann/json.hpp> <algorithm> <filesystem>)
set_target_properties(heed_programs PROPERTIES UNITY_BUILD ${HEED_JOIN_SOURCES} UNITY_BUILD_BATCH_SIZE 25)

file(GLOB sources CONFIGURE_DEPENDS inspect/page/*.js inspect/page/*.css inspect/page/*.html)
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/page_source.cpp DEPENDS ${sources} inspect/page/embed.cmake VERBATIM
                   COMMAND ${CMAKE_COMMAND} -D INTO=${PROJECT_BINARY_DIR}/page_source.cpp
                           -P ${PROJECT_SOURCE_DIR}/inspect/page/embed.cmake)

# In the build directory the programs are also available as train and inspect.
foreach(program train inspect)
  add_executable(heed_${program} ${program}/${program}.cpp)
  heed_options(heed_${program})
  target_link_libraries(heed_${program} PRIVATE heed_programs)
  heed_reuse_headers(heed_${program} heed_programs)
  set_target_properties(heed_${program} PROPERTIES OUTPUT_NAME heed-${program}
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
  add_custom_command(TARGET heed_${program} POST_BUILD VERBATIM BYPRODUCTS ${PROJECT_BINARY_DIR}/${program}
                     COMMAND ${CMAKE_COMMAND} -E create_symlink heed-${program} ${PROJECT_BINARY_DIR}/${program})
endforeach()
add_custom_target(heed_run_toy COMMAND heed_train --config toy.yaml DEPENDS heed_inspect
                  COMMENT "train --config toy.yaml"
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)

if(HEED_BUILD_EXAMPLES)
  file(GLOB sources CONFIGURE_DEPENDS examples/*.cpp)
  add_custom_target(examples)
  foreach(source ${sources})
    cmake_path(GET source STEM name)
    add_executable(example_${name} ${source})
    heed_options(example_${name})
    target_link_libraries(example_${name} PRIVATE heed_programs)
    heed_reuse_headers(example_${name} heed_programs)
    set_target_properties(example_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    add_dependencies(examples example_${name})
  endforeach()
endif()

if(HEED_BUILD_BENCH)
  file(GLOB sources CONFIGURE_DEPENDS bench/*.cpp)
  list(FILTER sources EXCLUDE REGEX /bench/bench\\.cpp$)
  add_library(heed_bench_rows STATIC EXCLUDE_FROM_ALL ${sources})
  heed_options(heed_bench_rows)
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
