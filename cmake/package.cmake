# cmake/package.cmake: what is installed. The tree may be moved afterwards.

include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/unibuf)
set(prefix_from_pc /)
cmake_path(RELATIVE_PATH prefix_from_pc BASE_DIRECTORY /${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(sources_from_config /${installed_sources})
cmake_path(RELATIVE_PATH sources_from_config BASE_DIRECTORY /${config_dir})
configure_file(cmake/unibuf-config.cmake.in unibuf-config.cmake @ONLY)
write_basic_package_version_file(unibuf-config-version.cmake COMPATIBILITY ${compatibility})

# install_api(TARGET NAME): the target, with NAME-targets.cmake and NAME.pc.
function(install_api target name)
    configure_file(cmake/${name}.pc.in ${name}.pc @ONLY)
    install(TARGETS ${target} EXPORT ${name})
    install(EXPORT ${name} NAMESPACE unibuf:: FILE ${name}-targets.cmake DESTINATION ${config_dir})
    install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# Beside the library, each other API is a component.
install_api(unibuf unibuf)
if(UNIBUF_C)
    install_api(unibuf_c unibuf-c)
endif()
if(UNIBUF_FORTRAN)
    install_api(unibuf_fortran unibuf-fortran)
    configure_file(cmake/unibuf-fortran-mpi.pc.in unibuf-fortran-mpi.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/unibuf-fortran-mpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
install(DIRECTORY include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${PROJECT_BINARY_DIR}/unibuf-config.cmake ${PROJECT_BINARY_DIR}/unibuf-config-version.cmake
        DESTINATION ${config_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# What lets containers find writes: docs/write-tracking.md.
install(FILES packaging/containers/unibuf.json DESTINATION ${CMAKE_INSTALL_DATADIR}/unibuf/containers)
install(PROGRAMS packaging/containers/allow_userfaultfd.py DESTINATION ${CMAKE_INSTALL_DATADIR}/unibuf/containers)

# What was left out is said last.
get_property(left_out GLOBAL PROPERTY unibuf_left_out)
foreach(line IN LISTS left_out)
    install(CODE "message(STATUS \"${line}\")")
endforeach()
