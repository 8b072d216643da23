# cmake/package.cmake: what is installed. The tree may be moved afterwards.

include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/unibuf)
set(prefix_from_pc /)
cmake_path(RELATIVE_PATH prefix_from_pc BASE_DIRECTORY /${CMAKE_INSTALL_LIBDIR}/pkgconfig)

configure_file(cmake/unibuf-config.cmake.in unibuf-config.cmake @ONLY)
configure_file(cmake/unibuf.pc.in unibuf.pc @ONLY)
write_basic_package_version_file(unibuf-config-version.cmake COMPATIBILITY SameMinorVersion)

install(TARGETS unibuf EXPORT unibuf)
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT unibuf NAMESPACE unibuf:: FILE unibuf-targets.cmake DESTINATION ${config_dir})
install(FILES ${PROJECT_BINARY_DIR}/unibuf-config.cmake ${PROJECT_BINARY_DIR}/unibuf-config-version.cmake
        DESTINATION ${config_dir})
install(FILES ${PROJECT_BINARY_DIR}/unibuf.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
