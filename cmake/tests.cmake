# One test program per component. Tests spend their time in the library, so they are compiled with less optimisation.
find_package(Catch2 REQUIRED)

# The headers that all tests include, compiled once.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/tests.cpp CONTENT "")
add_library(heed_tests OBJECT ${PROJECT_BINARY_DIR}/tests.cpp)
heed_options(heed_tests)
target_include_directories(heed_tests PRIVATE ${PROJECT_SOURCE_DIR})
# Tests call functions for their messages alone, which Tensor's [[nodiscard]] would report.
target_compile_options(heed_tests PRIVATE $<$<CONFIG:Release>:-Og> -Wno-unused-result)
target_link_libraries(heed_tests PRIVATE Catch2::Catch2WithMain heed nlohmann_json::nlohmann_json)
target_precompile_headers(heed_tests PRIVATE tests/catch.h <heed/heed.h> <nlohmann/json.hpp> <algorithm> <filesystem> <map>)

# heed_test(NAME LIBRARIES DIRECTORY...) builds NAME_test from the files in tests/DIRECTORY.
function(heed_test name libraries)
  list(TRANSFORM ARGN REPLACE ".+" "tests/\\0/*.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  add_executable(${name}_test ${sources})
  heed_options(${name}_test)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name}_test PRIVATE $<$<CONFIG:Release>:-Og> -Wno-unused-result)
  target_link_libraries(${name}_test PRIVATE Catch2::Catch2WithMain ${libraries})
  heed_reuse_headers(${name}_test heed_tests)
  set_target_properties(${name}_test PROPERTIES UNITY_BUILD ${HEED_JOIN_SOURCES} UNITY_BUILD_BATCH_SIZE 25)
  add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

# Operations register themselves. The loop over all operations needs the whole library.
heed_test(autograd $<IF:$<BOOL:${BUILD_SHARED_LIBS}>,heed_core,$<LINK_LIBRARY:WHOLE_ARCHIVE,heed_core>> autograd)
heed_test(nn "heed_formats;heed_distributed" nn models optim distributed)
heed_test(data heed_explain files data tokenizers formats)
heed_test(train heed_programs run train)
heed_test(inspect heed_programs explain views inspect)
heed_test(fuzz heed_programs fuzz)
heed_test(page heed_programs page)
heed_test(bench "heed_bench_rows;heed_programs" bench)
add_dependencies(train_test heed_train heed_inspect)
add_dependencies(page_test heed_train heed_inspect)
set_tests_properties(page PROPERTIES SKIP_REGULAR_EXPRESSION "chromium is not installed")

target_compile_options(autograd_test PRIVATE -Wno-unknown-pragmas)  # "omp simd" in the kernels' headers

# Checks commands and figures of the documents. With sanitizers these many runs would take minutes.
if(NOT HEED_SANITIZE)
  file(GLOB guides CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} docs/tutorial/*.md docs/how-to/*.md docs/explanation/*.md)
  add_test(NAME readme_commands WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
           COMMAND tests/readme/commands.sh ${PROJECT_BINARY_DIR} README.md README.zh-CN.md CONTRIBUTING.md ${guides})
  set(readme_tests names facts measured runs)
endif()
list(APPEND readme_tests graph)
# Checks names, figures and facts in the documents against the sources and the programs.
foreach(name ${readme_tests})
  add_test(NAME readme_${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
           COMMAND sh -c "command -v python3 >/dev/null || exit 77
                          exec python3 -B tests/readme/${name}.py '${PROJECT_BINARY_DIR}'")
  set_tests_properties(readme_${name} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME page_texts WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
         COMMAND sh -c "command -v python3 >/dev/null || exit 77
                        exec python3 -B tests/page/texts.py")
set_tests_properties(page_texts PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME jsonl_schema WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
         COMMAND sh -c "command -v python3 >/dev/null || exit 77
                        exec python3 -B tests/data/jsonl_schema.py '${PROJECT_BINARY_DIR}'")
set_tests_properties(jsonl_schema PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME readme_install WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
         COMMAND tests/readme/install.sh ${PROJECT_BINARY_DIR} docs/how-to/embed.md docs/tutorial/training-loop.md)
set_tests_properties(readme_install PROPERTIES ENVIRONMENT CXX=${CMAKE_CXX_COMPILER})
add_test(NAME compile COMMAND ${PROJECT_SOURCE_DIR}/tests/compile.sh ${CMAKE_CXX_COMPILER} ${PROJECT_BINARY_DIR}/components)
add_test(NAME readme_part WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMAND tests/readme/part.sh docs/how-to/embed.md)

# Each test runs a program of examples/ and checks its output.
add_executable(examples_test tests/examples/examples_test.cpp)
target_compile_definitions(examples_test PRIVATE HEED_EXAMPLES="${PROJECT_BINARY_DIR}/examples")
heed_options(examples_test)
target_include_directories(examples_test PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(examples_test PRIVATE $<$<CONFIG:Release>:-Og>)
target_link_libraries(examples_test PRIVATE Catch2::Catch2WithMain heed_programs)
heed_reuse_headers(examples_test heed_tests)
foreach(name journey self_attention multi_head d_k_and_masks scaling walk rms_norm custom_operation cholesky gru own_loop
        actor_critic language_model coreference causes data_parallel second_derivatives cnn lstm seq2seq vae gan lora)
  add_dependencies(examples_test example_${name})
endforeach()
add_test(NAME examples COMMAND examples_test)

# Trains the example configurations. Excluded under sanitizers, where it would take minutes without testing other code.
if(NOT HEED_SANITIZE)
  add_executable(trained_test tests/examples/trained_test.cpp)
  heed_options(trained_test)
target_include_directories(trained_test PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(trained_test PRIVATE Catch2::Catch2WithMain heed_programs)
  heed_reuse_headers(trained_test heed_tests)
  add_test(NAME trained COMMAND trained_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  add_test(NAME three_matrices COMMAND example_three_matrices)
  add_test(NAME read_model COMMAND ${PROJECT_SOURCE_DIR}/tests/examples/read_model.sh ${PROJECT_BINARY_DIR}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(read_model PROPERTIES SKIP_RETURN_CODE 77)
  add_test(NAME papers WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
           COMMAND sh -c "command -v python3 >/dev/null || exit 77
                          exec python3 -B examples/papers/run.py all --short --build '${PROJECT_BINARY_DIR}'")
  set_tests_properties(papers PROPERTIES SKIP_RETURN_CODE 77)
  set_tests_properties(trained three_matrices PROPERTIES PROCESSORS 2)  # both use all cores: one after the other
  set_tests_properties(three_matrices PROPERTIES PASS_REGULAR_EXPRESSION  # the full model is best, W_Q = W_K far behind
                       "W_Q, W_K, W_V +0\\.[89].*W_Q, W_K = W_V +0\\.[78].*W_Q = W_K, W_V +0\\.[0-5]")
endif()

# A shared module of a program that does not use heed itself, like a plug-in or a Python extension.
add_library(heed_plugin MODULE tests/plugin/plugin.cpp)
heed_options(heed_plugin)
target_include_directories(heed_plugin PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(heed_plugin PRIVATE heed)
add_executable(plugin_test tests/plugin/plugin_test.cpp)
heed_options(plugin_test)
target_include_directories(plugin_test PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_features(plugin_test PRIVATE cxx_std_20)
target_compile_definitions(plugin_test PRIVATE HEED_PLUGIN="$<TARGET_FILE:heed_plugin>")
target_link_libraries(plugin_test PRIVATE Catch2::Catch2WithMain ${CMAKE_DL_LIBS})
add_dependencies(plugin_test heed_plugin)
add_test(NAME plugin COMMAND plugin_test)

# The other tests run the library for this processor's level of x86-64; this one runs the first level, without AVX2.
if(HEED_PORTABLE)
  add_test(NAME first_level WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
           COMMAND sh -c "ldd '$<TARGET_FILE:autograd_test>' | grep ' ${PROJECT_BINARY_DIR}/lib/libheed-core.so' &&
                          '$<TARGET_FILE:autograd_test>'")
  set_tests_properties(first_level PROPERTIES ENVIRONMENT GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2)
endif()

# Slow: takes pictures of every view of inspect's page, for several runs, in BUILD/screenshots.
add_custom_target(page-screenshots COMMAND ${PROJECT_SOURCE_DIR}/tests/page/screenshots.sh ${PROJECT_BINARY_DIR}
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
add_dependencies(page-screenshots page_test)

# For the preset "coverage": the lines and branches that the component tests run.
add_custom_target(coverage COMMAND ${PROJECT_SOURCE_DIR}/tests/coverage.py ${PROJECT_BINARY_DIR}
                  DEPENDS autograd_test nn_test data_test train_test inspect_test
                  WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)

add_custom_target(reproducible-test COMMAND ${PROJECT_SOURCE_DIR}/tests/reproducible.sh ${CMAKE_CXX_COMPILER}
                  USES_TERMINAL VERBATIM)

# Kills processes, and makes system calls fail. The targets are slow because they try every case.
add_custom_target(kill-test DEPENDS heed_train USES_TERMINAL VERBATIM
                  COMMAND timeout 3600 ${PROJECT_SOURCE_DIR}/tests/train/kill.sh $<TARGET_FILE:heed_train> 200)
if(NOT HEED_SANITIZE)
  add_test(NAME kill COMMAND ${PROJECT_SOURCE_DIR}/tests/train/kill.sh $<TARGET_FILE:heed_train> 20)
  if(CMAKE_BUILD_TYPE STREQUAL Release)
    add_test(NAME hardened COMMAND ${PROJECT_SOURCE_DIR}/tests/hardened.sh $<TARGET_FILE:heed_train>
                                   $<TARGET_FILE:heed_inspect>)
  endif()
  add_library(heed_inject MODULE tests/fault/inject.cpp)
  heed_options(heed_inject)
  target_compile_features(heed_inject PRIVATE cxx_std_20)
  # fortified headers define inline what this file defines
  target_compile_options(heed_inject PRIVATE "SHELL:-U _FORTIFY_SOURCE")
  target_link_libraries(heed_inject PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME fault COMMAND ${PROJECT_SOURCE_DIR}/tests/fault/fault.sh ${PROJECT_BINARY_DIR} 60)
  add_custom_target(fault-test DEPENDS heed_train heed_inspect heed_inject USES_TERMINAL VERBATIM
                    COMMAND ${PROJECT_SOURCE_DIR}/tests/fault/fault.sh ${PROJECT_BINARY_DIR} all)
endif()

# Training on several processes. The preset mpi runs the tests with this label.
if(HEED_MPI)
  target_compile_definitions(train_test PRIVATE HEED_MPI)
  add_executable(sharded_state tests/mpi/sharded_state.cpp)
  heed_options(sharded_state)
  target_link_libraries(sharded_state PRIVATE heed_distributed)
  add_custom_target(mpi_programs DEPENDS heed_train heed_inspect example_data_parallel sharded_state)
  foreach(part bits states resume death errors studies example)
    add_test(NAME mpi_${part} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
             COMMAND timeout -k 10 600 tests/distributed/processes.sh ${PROJECT_BINARY_DIR} ${part})
    set_tests_properties(mpi_${part} PROPERTIES LABELS mpi PROCESSORS 2)
  endforeach()
endif()

# Random configurations: killed and resumed, every view, the gradient check.
add_custom_target(sweep-test DEPENDS heed_train heed_inspect USES_TERMINAL VERBATIM
                  COMMAND ${PROJECT_SOURCE_DIR}/tests/sweep/sweep.sh ${PROJECT_BINARY_DIR} 200)
if(NOT HEED_SANITIZE)
  add_test(NAME sweep COMMAND ${PROJECT_SOURCE_DIR}/tests/sweep/sweep.sh ${PROJECT_BINARY_DIR} 6)
endif()

# Compares with PyTorch, if PYTHON names a Python with PyTorch. The target is slow: it runs ten times as many graphs.
if(DEFINED ENV{PYTHON})
  add_executable(random_graphs tests/differential/random_graphs.cpp)
  heed_options(random_graphs)
target_include_directories(random_graphs PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(random_graphs PRIVATE heed)
  add_test(NAME differential COMMAND $ENV{PYTHON} ${PROJECT_SOURCE_DIR}/tests/differential/random_graphs.py
                                     $<TARGET_FILE:random_graphs>)
  add_test(NAME tensorboard COMMAND $ENV{PYTHON} ${PROJECT_SOURCE_DIR}/tests/run/read_events.py $<TARGET_FILE:example_own_loop>)
  add_test(NAME gguf_package COMMAND $ENV{PYTHON} ${PROJECT_SOURCE_DIR}/tests/formats/read_gguf.py $<TARGET_FILE:heed_inspect>)
  set_tests_properties(tensorboard gguf_package PROPERTIES SKIP_RETURN_CODE 77)
  add_custom_target(differential-test USES_TERMINAL VERBATIM
                    COMMAND $ENV{PYTHON} ${PROJECT_SOURCE_DIR}/tests/differential/random_graphs.py
                            $<TARGET_FILE:random_graphs> 5000)
  add_dependencies(differential-test random_graphs)
endif()

# The course: each wrong solution is judged and named; each stub says what is missing. variants.py writes them as sources.
find_program(HEED_PYTHON python3)
if(HEED_PYTHON)
  set(variants ${PROJECT_BINARY_DIR}/learn/variants)
  file(GLOB learn_texts CONFIGURE_DEPENDS learn/solutions/*.h learn/solutions/*.py learn/wrong/*.txt)
  set(learn_variants ${learn_texts})
  list(FILTER learn_variants INCLUDE REGEX "solutions.*h$")
  list(TRANSFORM learn_variants REPLACE ".*/solutions/(.*)\\.h" "${variants}/\\1.cpp")
  add_custom_command(OUTPUT ${learn_variants} DEPENDS learn/variants.py ${learn_texts} VERBATIM
                     COMMAND ${HEED_PYTHON} -B ${PROJECT_SOURCE_DIR}/learn/variants.py --test ${variants})
  file(GLOB learn_judges CONFIGURE_DEPENDS learn/judges/*.cpp)
  add_executable(learn_test tests/learn/learn_test.cpp tests/learn/python_test.cpp ${learn_judges} ${learn_variants})
  heed_options(learn_test)
  target_include_directories(learn_test PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/learn)
  target_compile_features(learn_test PRIVATE cxx_std_20)
  target_compile_definitions(learn_test PRIVATE LEARN_VARIANTS="${variants}")
  target_compile_options(learn_test PRIVATE $<$<CONFIG:Release>:-O1> -Wno-unused -Wno-unused-result -Wno-unused-parameter)
  target_link_libraries(learn_test PRIVATE Catch2::Catch2WithMain heed_core)
  set_target_properties(learn_test PROPERTIES UNITY_BUILD ${HEED_JOIN_SOURCES} UNITY_BUILD_BATCH_SIZE 14)
  add_test(NAME learn COMMAND learn_test WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  add_test(NAME learn_stubs COMMAND ${HEED_PYTHON} -B learn/variants.py --check WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  if(NOT HEED_SANITIZE)
    add_test(NAME learn_judge WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
             COMMAND tests/learn/judge.sh ${PROJECT_BINARY_DIR} $<TARGET_FILE:heed_core> ${CMAKE_CXX_COMPILER})
  endif()
endif()

# A test that hangs fails. Sanitizers and emulators slow tests down up to 20 times.
set(seconds 1200)
if(HEED_SANITIZE OR CMAKE_CROSSCOMPILING)
  set(seconds 7200)
endif()
get_property(tests DIRECTORY PROPERTY TESTS)
set_tests_properties(${tests} PROPERTIES TIMEOUT ${seconds})
# ctest -LE slow leaves out those that take more than ten seconds.
foreach(name autograd data fault readme_install readme_runs sweep trained)
  if(name IN_LIST tests)
    set_tests_properties(${name} PROPERTIES LABELS slow)
  endif()
endforeach()
