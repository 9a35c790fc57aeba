# Fuzz targets, by clang's libFuzzer: "fuzz" runs each for $FUZZ_SECONDS (10) from the inputs in tests/fuzz/seeds.
file(GLOB sources CONFIGURE_DEPENDS tests/fuzz/*.cpp)
foreach(source ${sources})
  cmake_path(GET source STEM name)
  add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${source})
  heed_options(fuzz_${name})
  target_link_libraries(fuzz_${name} PRIVATE heed_programs)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  list(APPEND fuzz_targets fuzz_${name})
endforeach()
add_custom_target(fuzz COMMAND ${PROJECT_SOURCE_DIR}/tests/fuzz/run.sh ${PROJECT_BINARY_DIR} DEPENDS ${fuzz_targets}
                  USES_TERMINAL VERBATIM)
