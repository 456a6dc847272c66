# A user's program finds the library with find_package(glassformer) and with pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS glassformer_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS glassformer EXPORT glassformer-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY models/ DESTINATION ${CMAKE_INSTALL_DATADIR}/glassformer/models)
install(DIRECTORY include/glassformer DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT glassformer-targets NAMESPACE glassformer::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/glassformer)
configure_package_config_file(
  cmake/glassformer-config.cmake.in ${PROJECT_BINARY_DIR}/glassformer-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/glassformer)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/glassformer-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
# What a static library needs, its user must link; a shared one brings it along.
if(BUILD_SHARED_LIBS)
  set(PC_PRIVATE ".private")
else()
  set(PC_LIBRARIES "-lpthread")
endif()
# Relative, so that the file is right wherever it was installed to.
file(RELATIVE_PATH PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/glassformer.pc.in ${PROJECT_BINARY_DIR}/glassformer.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/glassformer-config.cmake
              ${PROJECT_BINARY_DIR}/glassformer-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/glassformer)
install(FILES ${PROJECT_BINARY_DIR}/glassformer.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
