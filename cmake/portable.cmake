# Builds heed::core again for each level of x86-64 above the first: the other components spend their time in it. The system's loader
# picks the one for the processor (glibc 2.33 and later).
foreach(level x86-64-v3 x86-64-v4)
  heed_core(LEVEL ${level})
  heed_core_needs(heed_core-${level})
  target_compile_options(heed_core-${level} PRIVATE -march=${level})
  set_target_properties(heed_core-${level} PROPERTIES
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/glibc-hwcaps/${level})
  add_dependencies(heed_core heed_core-${level})
  if(HEED_INSTALL)
    install(TARGETS heed_core-${level} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/glibc-hwcaps/${level} NAMELINK_SKIP)
  endif()
endforeach()
