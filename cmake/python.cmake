# heedml: the Python package. pip runs this through pyproject.toml; HEED_BUILD_PYTHON makes it in BUILD/python/heedml for the tests.
# The module links everything that train and inspect call, so that both give the same numbers.
if(CMAKE_VERSION VERSION_LESS 3.26)
  set(python_module Development.Module)  # CMake 3.25 finds no Development.SABIModule
else()
  set(python_module Development.Module OPTIONAL_COMPONENTS Development.SABIModule)
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter ${python_module})
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "HEED_BUILD_PYTHON needs nanobind: ${Python_EXECUTABLE} -m pip install nanobind numpy pytest")
endif()
find_package(nanobind CONFIG REQUIRED)

file(GLOB sources CONFIGURE_DEPENDS python/bindings/*.cpp)
nanobind_add_module(heed_python STABLE_ABI NB_STATIC NOMINSIZE NB_SUPPRESS_WARNINGS ${sources})
heed_options(heed_python)
set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS -O2)  # after the -Og of the programs' libraries
target_include_directories(heed_python PRIVATE ${PROJECT_SOURCE_DIR}/python)
target_link_libraries(heed_python PRIVATE heed_train_library heed_inspect_library)
# bindings/module.cpp explains wrong arguments, and lets daemon threads wait while the interpreter ends.
target_link_options(heed_python PRIVATE -Wl,--wrap=PyErr_SetString -Wl,--wrap=PyEval_RestoreThread
                    -Wl,--wrap=PyGILState_Ensure)
# The inline variables of the library's headers, such as the innermost Hook, must be one with the library's.
set_target_properties(heed_python PROPERTIES OUTPUT_NAME _core CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF
                      UNITY_BUILD OFF LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/python/heedml
                      BUILD_RPATH ${PROJECT_BINARY_DIR}/lib INSTALL_RPATH $ORIGIN/lib)
nanobind_add_stub(heed_python_stub MODULE heedml._core OUTPUT ${PROJECT_BINARY_DIR}/python/heedml/_core.pyi
                  PYTHON_PATH ${PROJECT_BINARY_DIR}/python INCLUDE_PRIVATE
                  PATTERN_FILE ${PROJECT_SOURCE_DIR}/python/bindings/stubs.pat DEPENDS heed_python)

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/python/heedml)
# The sources beside the module, for tests in the build directory.
file(GLOB files CONFIGURE_DEPENDS python/heedml/*.py python/heedml/py.typed)
foreach(file ${files})
  cmake_path(GET file FILENAME name)
  file(CREATE_LINK ${file} ${PROJECT_BINARY_DIR}/python/heedml/${name} SYMBOLIC)
endforeach()

if(SKBUILD)
  install(TARGETS heed_python DESTINATION heedml)
  install(FILES ${PROJECT_BINARY_DIR}/python/heedml/_core.pyi DESTINATION heedml)
  set_target_properties(heed_train heed_inspect PROPERTIES INSTALL_RPATH $ORIGIN/../lib)
  install(TARGETS heed_train heed_inspect DESTINATION heedml/bin)
  if(BUILD_SHARED_LIBS)
    get_property(components GLOBAL PROPERTY HEED_COMPONENTS)
    list(TRANSFORM components PREPEND heed_)
    set(levels x86-64-v3 x86-64-v4)
    list(TRANSFORM levels PREPEND heed_core- OUTPUT_VARIABLE variants)
    # A wheel holds no links, so each library has one name.
    set_target_properties(${components} ${variants} PROPERTIES INSTALL_RPATH $ORIGIN
                          VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    install(TARGETS ${components} LIBRARY DESTINATION heedml/lib NAMELINK_SKIP)
    foreach(level ${levels})
      install(TARGETS heed_core-${level} LIBRARY DESTINATION heedml/lib/glibc-hwcaps/${level} NAMELINK_SKIP)
    endforeach()
  endif()
endif()
if(HEED_BUILD_TESTS)
  add_test(NAME python WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
           COMMAND ${Python_EXECUTABLE} -B -m pytest -q -p no:cacheprovider tests/python)
  set_tests_properties(python PROPERTIES ENVIRONMENT "PYTHONPATH=${PROJECT_BINARY_DIR}/python")
endif()
