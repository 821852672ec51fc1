# cmake --install: the programs, the recorder, the page, and a package for find_package(amp) with the target amp::amp.
include(CMakePackageConfigHelpers)

set_target_properties(amp_base PROPERTIES EXPORT_NAME base OUTPUT_NAME amp_base)
install(TARGETS amp amp_base EXPORT ampTargets ARCHIVE DESTINATION lib)
install(DIRECTORY libamp DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(EXPORT ampTargets NAMESPACE amp:: DESTINATION lib/cmake/amp)

configure_package_config_file(cmake/ampConfig.cmake.in ${PROJECT_BINARY_DIR}/ampConfig.cmake
                              INSTALL_DESTINATION lib/cmake/amp)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ampConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ampConfig.cmake ${PROJECT_BINARY_DIR}/ampConfigVersion.cmake
              cmake/amp_find_cblas.cmake DESTINATION lib/cmake/amp)

if(TARGET ampprof)
  # ampprof finds the recorder and the page relative to itself: ../lib and ../share/ampprof.
  install(TARGETS ampprof ampprof_recorder RUNTIME DESTINATION bin LIBRARY DESTINATION lib)
  install(FILES ${PROJECT_BINARY_DIR}/viewer/viewer.html DESTINATION share/ampprof OPTIONAL)
endif()
