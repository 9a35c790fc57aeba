# The target "docs": the API reference of the installed headers, docs/html/index.html in the build directory. An error
# for a public class, function or enumeration without a comment; fields may speak for themselves.
find_program(HEED_DOXYGEN doxygen)
file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} heed.h autograd/*.h autograd/gradcheck/*.h files/*.h
     nn/*.h optim/*.h data/*.h data/tasks/*.h)
list(REMOVE_ITEM headers files/json.h)
list(TRANSFORM headers PREPEND ${PROJECT_BINARY_DIR}/include/heed/)
list(JOIN headers " " headers)

set(output ${PROJECT_BINARY_DIR}/docs)
file(MAKE_DIRECTORY ${output})
configure_file(docs/Doxyfile.in ${output}/Doxyfile @ONLY)
if(HEED_DOXYGEN)
  add_custom_target(docs COMMAND ${HEED_DOXYGEN} Doxyfile
                    COMMAND sh -c "! grep -v '(variable) of ' warnings.txt >&2"
                    COMMAND ${CMAKE_COMMAND} -E echo "docs: ${output}/html/index.html"
                    WORKING_DIRECTORY ${output} VERBATIM)
else()
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E echo "docs: there is no doxygen here; ./setup.sh docs" COMMAND false)
endif()
