# The components of the library, from the bottom up. Each is a target with dependencies of its own: heed_NAME, which other programs
# link as heed::NAME. It sees the headers of its own directories and of the components that it links, and no others: each component
# has a directory of links to its directories in BUILD/components. docs/explanation/architecture.md shows the same graph, and
# tests/readme/graph.py compares both.

find_package(OpenMP REQUIRED)

# heed_headers(NAME DIRECTORY...): makes BUILD/components/NAME, where DIRECTORY/x.h is "DIRECTORY/x.h" and <heed/DIRECTORY/x.h>.
function(heed_headers name)
  set(links ${PROJECT_BINARY_DIR}/components/${name})
  file(MAKE_DIRECTORY ${links}/heed)
  foreach(directory ${ARGN})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${directory} ${links}/${directory} SYMBOLIC)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${directory} ${links}/heed/${directory} SYMBOLIC)
  endforeach()
endfunction()

# heed_component(NAME DIRECTORIES DIRECTORY... [LINKS NAME...] [LIBRARIES LIBRARY...] [INCLUDES DIRECTORY...] [OPTIONS OPTION...]
#                [LEVEL LEVEL])
# LIBRARIES and INCLUDES serve its sources alone, OPTIONS follow -O3. With LEVEL, makes heed_NAME-LEVEL for the processors of this
# level.
function(heed_component name)
  cmake_parse_arguments(PARSE_ARGV 1 its "" LEVEL "DIRECTORIES;LINKS;LIBRARIES;INCLUDES;OPTIONS")
  list(TRANSFORM its_DIRECTORIES APPEND "/*.cpp" OUTPUT_VARIABLE patterns)
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  list(FILTER its_DIRECTORIES EXCLUDE REGEX "/")
  heed_headers(${name} ${its_DIRECTORIES})
  set(target heed_${name})
  if(its_LEVEL)
    string(APPEND target -${its_LEVEL})
  endif()
  add_library(${target} ${sources})
  heed_options(${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE
                         -falign-loops=64  # loop speed would otherwise vary by a tenth with their alignment
                         -Wno-psabi  # vectors are not passed between files
                         # -fPIC would otherwise prevent much inlining
                         $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>
                         $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>  # vectorising "omp simd" loops is optional
                         ${OpenMP_CXX_FLAGS}  # as core, whose precompiled headers all use
                         ${its_OPTIONS})
  list(TRANSFORM its_LINKS PREPEND heed_)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/components/${name}>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                       PRIVATE ${its_INCLUDES})
  target_link_libraries(${target} PUBLIC ${its_LINKS} PRIVATE ${its_LIBRARIES})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${HEED_JOIN_SOURCES} UNITY_BUILD_BATCH_SIZE 12
                        POSITION_INDEPENDENT_CODE ON  # plug-ins and extension modules link the static libraries, too
                        OUTPUT_NAME heed-${name} EXPORT_NAME ${name} VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  if(NOT its_LEVEL)
    add_library(heed::${name} ALIAS ${target})
    set_property(GLOBAL APPEND PROPERTY HEED_COMPONENTS ${name})
    set_property(GLOBAL APPEND PROPERTY HEED_HEADERS ${its_DIRECTORIES})
  endif()
endfunction()

# Precompiles the headers of `other` for `target`. Those of a library with position-independent code do not serve a program.
function(heed_reuse_headers target other)
  get_target_property(type ${target} TYPE)
  get_target_property(other_is_independent ${other} POSITION_INDEPENDENT_CODE)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS AND NOT (type STREQUAL EXECUTABLE AND other_is_independent))
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()

# core: tensors, layers, optimisers and data. OpenBLAS is loaded when a program starts.
find_package(fmt REQUIRED)
find_path(CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas REQUIRED)
function(heed_core)
  heed_component(core ${ARGN} DIRECTORIES autograd autograd/internal autograd/cpu autograd/gradcheck files files/internal nn optim data data/tasks
                 LIBRARIES OpenMP::OpenMP_CXX ${CMAKE_DL_LIBS} INCLUDES ${CBLAS_INCLUDE_DIR})
endfunction()
function(heed_core_needs target)
  target_link_libraries(${target} PUBLIC fmt::fmt)
  target_link_options(${target} PUBLIC ${heed_needs})
  if(HEED_SANITIZE)
    target_link_options(${target} PUBLIC -fsanitize=${HEED_SANITIZE})
  endif()
  target_precompile_headers(${target} PRIVATE <fmt/format.h> <algorithm> <functional> <memory> <string> <vector>)
endfunction()
# Most of the time goes into reading headers, so several sources are compiled as one. These are compiled alone: the kernels, since
# they take longer than their headers, and tasks with tables of the same names.
file(GLOB alone autograd/cpu/*.cpp data/tasks/bank.cpp data/tasks/chinese.cpp data/tasks/coreference.cpp)
set_source_files_properties(${alone} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# Compilers use half of an AVX-512 register unless told otherwise. Whole ones compute exp, sigmoid and gelu in three quarters of the time.
include(CheckCXXCompilerFlag)
check_cxx_compiler_flag(-mprefer-vector-width=512 HEED_compiler_knows_vector_width)
if(HEED_compiler_knows_vector_width)
  set_source_files_properties(autograd/exponentials.cpp autograd/random_tensors.cpp PROPERTIES COMPILE_OPTIONS -mprefer-vector-width=512
                              SKIP_PRECOMPILE_HEADERS ON)
endif()
heed_core()
heed_core_needs(heed_core)
foreach(header core.h version.h)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${header} ${PROJECT_BINARY_DIR}/components/core/heed/${header} SYMBOLIC)
endforeach()
if(HEED_CORE_ONLY)
  return()
endif()

# tokenizers: Unicode, JSON, words and subwords. Only pipeline/regex.cpp uses PCRE2, and only subwords.cpp SentencePiece.
find_package(nlohmann_json REQUIRED)
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
find_path(PCRE2_INCLUDE_DIR pcre2.h REQUIRED)
find_path(SENTENCEPIECE_INCLUDE_DIR sentencepiece_processor.h REQUIRED)
# The headers of SentencePiece 0.2.2 and later include abseil's.
file(STRINGS ${SENTENCEPIECE_INCLUDE_DIR}/sentencepiece_processor.h includes_absl REGEX "include <absl/" LIMIT_COUNT 1)
if(includes_absl)
  find_package(absl REQUIRED)
  set(absl absl::status)
endif()
set(json $<BUILD_INTERFACE:nlohmann_json::nlohmann_json>)
# Their time goes into core's loops, so -O1 halves the time that they take to compile.
set(light $<$<CONFIG:Release>:-O1>)
heed_component(tokenizers DIRECTORIES tokenizers tokenizers/internal tokenizers/pipeline LINKS core
               LIBRARIES utf8proc pcre2-8 sentencepiece sentencepiece_train ${absl} ${json}
               INCLUDES ${UTF8PROC_INCLUDE_DIR} ${PCRE2_INCLUDE_DIR} ${SENTENCEPIECE_INCLUDE_DIR})

# models: the transformer, its heads and its texts.
heed_component(models DIRECTORIES models models/internal LINKS tokenizers OPTIONS ${light})

# formats: files of models, of arrays and of sentences. Only internal/zip.cpp uses zlib.
find_path(ZLIB_INCLUDE_DIR zlib.h REQUIRED)
heed_component(formats DIRECTORIES formats formats/internal formats/datasets formats/hugging_face formats/gguf LINKS models
               LIBRARIES z ${json} INCLUDES ${ZLIB_INCLUDE_DIR} OPTIONS ${light})
target_precompile_headers(heed_formats PRIVATE <fmt/format.h> <nlohmann/json.hpp> <algorithm> <filesystem> <functional> <map>
                          <memory> <string> <vector>)

# distributed: several processes. The interfaces of MPI libraries differ in binary form, so one of them is chosen when heed is built.
if(HEED_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
  set(mpi $<LINK_ONLY:MPI::MPI_CXX>)
  # Compiles only these two files with MPI's options, so that a build can be given MPI later.
  set_source_files_properties(distributed/internal/mpi.cpp PROPERTIES INCLUDE_DIRECTORIES "${MPI_CXX_INCLUDE_DIRS}")
  set_source_files_properties(distributed/communicator.cpp PROPERTIES COMPILE_DEFINITIONS HEED_MPI)
else()
  set_source_files_properties(distributed/internal/mpi.cpp PROPERTIES HEADER_FILE_ONLY ON)
endif()
set_source_files_properties(distributed/communicator.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
heed_component(distributed DIRECTORIES distributed distributed/internal LINKS core LIBRARIES ${mpi})

# explain: the trace of a model, interventions, attributions, and studies of data sets.
foreach(name internal/cause_rows causes interval rank_correlation)  # their figures are the same on processors with and without FMA
  set_source_files_properties(explain/studies/${name}.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off
                              SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()
heed_component(explain DIRECTORIES explain explain/internal explain/circuits explain/studies explain/studies/internal LINKS formats distributed LIBRARIES ${json} OPTIONS ${light})

# run: the files of a run, which a training loop writes.
heed_component(run DIRECTORIES run run/internal LINKS explain LIBRARIES ${json} OPTIONS ${light})

heed_reuse_headers(heed_tokenizers heed_core)
heed_reuse_headers(heed_distributed heed_core)
foreach(component models explain run)
  heed_reuse_headers(heed_${component} heed_formats)
endforeach()

# All of the library.
add_library(heed INTERFACE)
add_library(heed::heed ALIAS heed)
set_target_properties(heed PROPERTIES EXPORT_NAME heed)
target_link_libraries(heed INTERFACE heed_run)
heed_headers(all)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/heed.h ${PROJECT_BINARY_DIR}/components/all/heed/heed.h SYMBOLIC)
target_include_directories(heed INTERFACE $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/components/all>
                                          $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
