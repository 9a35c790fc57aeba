# Builds the library again for each level of x86-64 above the first. The system's loader picks the one for the processor
# (glibc 2.33 and later).
set_target_properties(heed PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
foreach(level x86-64-v3 x86-64-v4)
  heed_library(heed-${level})
  target_compile_options(heed-${level} PRIVATE -march=${level})
  set_target_properties(heed-${level} PROPERTIES
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/glibc-hwcaps/${level})
  add_dependencies(heed heed-${level})
  if(HEED_INSTALL)
    install(TARGETS heed-${level} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level} NAMELINK_SKIP)
  endif()
endforeach()
