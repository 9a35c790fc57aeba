# The target "docs": the documentation site, docs/html/index.html in the build directory. Doxygen reads the installed headers and
# fails for a public class, function or enumeration without a comment; fields may speak for themselves. docs/generate.py copies the
# pages and makes those that the programs' help texts fill. Sphinx fails at the first warning, docs/check.py at a broken link.
find_program(HEED_DOXYGEN doxygen)
find_program(HEED_SPHINX sphinx-build)
find_program(HEED_PYTHON python3)
get_property(directories GLOBAL PROPERTY HEED_HEADERS)
list(APPEND directories autograd/gradcheck data/tasks formats/datasets explain/circuits explain/studies)
list(TRANSFORM directories APPEND "/*.h")
file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} core.h heed.h ${directories})
# Doxygen reads them where the tree has the paths of an installation.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
file(CREATE_LINK ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/include/heed SYMBOLIC)
list(TRANSFORM headers PREPEND ${PROJECT_BINARY_DIR}/include/heed/)
list(JOIN headers " " headers)

set(output ${PROJECT_BINARY_DIR}/docs)
file(MAKE_DIRECTORY ${output})
configure_file(docs/Doxyfile.in ${output}/Doxyfile @ONLY)
add_executable(heed_derivatives EXCLUDE_FROM_ALL docs/derivatives.cpp)  # prints a page that docs/generate.py writes
heed_options(heed_derivatives)
set_target_properties(heed_derivatives PROPERTIES OUTPUT_NAME derivatives RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_link_libraries(heed_derivatives PRIVATE $<IF:$<BOOL:${BUILD_SHARED_LIBS}>,heed_core,$<LINK_LIBRARY:WHOLE_ARCHIVE,heed_core>>)
if(HEED_DOXYGEN AND HEED_SPHINX AND HEED_PYTHON AND TARGET heed_train)
  add_custom_target(docs COMMAND ${HEED_DOXYGEN} Doxyfile
                    COMMAND sh -c "! grep -v '(variable) of ' warnings.txt >&2"
                    COMMAND ${HEED_PYTHON} -B ${PROJECT_SOURCE_DIR}/docs/generate.py ${PROJECT_BINARY_DIR} ${output}/source
                    COMMAND ${CMAKE_COMMAND} -E env HEED_VERSION=${PROJECT_VERSION} HEED_DOXYGEN_XML=${output}/xml
                            ${HEED_SPHINX} -q -W --keep-going -b html -d ${output}/doctrees -c source/docs source html
                    COMMAND ${HEED_PYTHON} -B ${PROJECT_SOURCE_DIR}/docs/check.py html
                    COMMAND ${CMAKE_COMMAND} -E echo "docs: ${output}/html/index.html"
                    WORKING_DIRECTORY ${output} VERBATIM)
  add_dependencies(docs heed_train heed_inspect heed_derivatives)
  # Adds pages of small models to the site, which it trains.
  add_custom_target(gallery COMMAND ${PROJECT_SOURCE_DIR}/docs/gallery/make.sh ${PROJECT_BINARY_DIR} ${output}/html/docs/gallery
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM USES_TERMINAL)
  add_dependencies(gallery docs)
else()
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E echo "docs: a program is missing here; ./setup.sh docs installs doxygen and Sphinx"
                    COMMAND false)
endif()
