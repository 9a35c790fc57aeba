# The target "lint": clang-format and clang-tidy over all sources, with the settings in .clang-format and .clang-tidy.
# Reading headers takes most of its time, so the preset "lint" joins sources.
find_program(HEED_CLANG_FORMAT clang-format)
find_program(HEED_RUN_CLANG_TIDY run-clang-tidy)
file(GLOB_RECURSE sources CONFIGURE_DEPENDS autograd/*.h autograd/*.cpp files/*.h files/*.cpp nn/*.h nn/*.cpp
     optim/*.h optim/*.cpp data/*.h data/*.cpp tokenizers/*.h tokenizers/*.cpp models/*.h models/*.cpp formats/*.h formats/*.cpp
     distributed/*.h distributed/*.cpp explain/*.h explain/*.cpp views/*.h views/*.cpp run/*.h run/*.cpp train/*.h train/*.cpp inspect/*.h inspect/*.cpp
     bench/*.h bench/*.cpp examples/*.h examples/*.cpp learn/*.h learn/*.cpp tests/*.h tests/*.cpp)
if(HEED_CLANG_FORMAT AND HEED_RUN_CLANG_TIDY AND CMAKE_EXPORT_COMPILE_COMMANDS)
  add_custom_target(lint COMMAND ${HEED_CLANG_FORMAT} --dry-run -Werror ${sources} heed.h version.h
                    COMMAND ${HEED_RUN_CLANG_TIDY} -quiet -p ${PROJECT_BINARY_DIR}
                    DEPENDS ${PROJECT_BINARY_DIR}/page_source.cpp
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
else()
  add_custom_target(lint COMMAND ${CMAKE_COMMAND} -E echo
                    "lint: needs clang-format and clang-tidy (./setup.sh lint), and the preset lint" COMMAND false)
endif()
