# cmake --install: headers, libraries, and what find_package(Tapestry) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tapestry)

install(DIRECTORY core nn optim DESTINATION include/tapestry FILES_MATCHING PATTERN "*.hpp")
install(DIRECTORY core/debug_printers DESTINATION ${CMAKE_INSTALL_DATADIR}/tapestry FILES_MATCHING PATTERN "*.py")
install(TARGETS tapestry_core tapestry_nn tapestry_optim EXPORT TapestryTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET utf8proc)  # downloaded
  install(TARGETS utf8proc EXPORT TapestryTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(EXPORT TapestryTargets NAMESPACE tapestry:: DESTINATION ${package_dir})
configure_package_config_file(.cmake/TapestryConfig.cmake.in ${PROJECT_BINARY_DIR}/TapestryConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TapestryConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TapestryConfig.cmake ${PROJECT_BINARY_DIR}/TapestryConfigVersion.cmake
              .cmake/xsimd.cmake .cmake/utf8proc.cmake DESTINATION ${package_dir})
