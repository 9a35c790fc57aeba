# Fuzz targets, by clang's libFuzzer: "fuzz" runs each for $FUZZ_SECONDS (10) from the inputs in tests/fuzz/seeds.
file(GLOB sources CONFIGURE_DEPENDS tests/fuzz/*.cpp)
list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
foreach(source ${sources})
  cmake_path(GET source STEM name)
  file(CONFIGURE OUTPUT fuzz_${name}.cpp CONTENT [[
#include "tests/fuzz/fuzz.h"
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, unsigned long size) {
  heed::fuzz::@name@({reinterpret_cast<const char*>(data), size});
  return 0;
}
]] @ONLY)
  add_executable(fuzz_${name} EXCLUDE_FROM_ALL ${source} ${PROJECT_BINARY_DIR}/fuzz_${name}.cpp)
  heed_options(fuzz_${name})
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(fuzz_${name} PRIVATE heed_programs)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  list(APPEND fuzz_targets fuzz_${name})
endforeach()
add_custom_target(fuzz COMMAND ${PROJECT_SOURCE_DIR}/tests/fuzz/run.sh ${PROJECT_BINARY_DIR} DEPENDS ${fuzz_targets}
                  USES_TERMINAL VERBATIM)
