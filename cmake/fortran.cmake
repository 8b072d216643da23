# cmake/fortran.cmake: the Fortran modules, as a part of this build and of the package.

enable_language(Fortran)
add_subdirectory(${PROJECT_SOURCE_DIR}/bindings/fortran)
unite(unibuf_fortran)
set_target_properties(unibuf_fortran PROPERTIES EXPORT_NAME fortran)
exports(unibuf_fortran fortran.map)

# Modules are a compiler's own: the sources are installed too.
set(installed_modules ${CMAKE_INSTALL_INCLUDEDIR}/unibuf/fortran)
set(installed_sources ${CMAKE_INSTALL_DATADIR}/unibuf/bindings)
set(built ${PROJECT_BINARY_DIR}/bindings/fortran)
target_include_directories(unibuf_fortran INTERFACE $<INSTALL_INTERFACE:${installed_modules}>)
install(DIRECTORY ${built}/modules/ DESTINATION ${installed_modules})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/bindings/fortran DESTINATION ${installed_sources} PATTERN *.fypp EXCLUDE)
install(FILES ${built}/gpu_buffer_contents.F90 DESTINATION ${installed_sources}/fortran)
install(FILES ${PROJECT_SOURCE_DIR}/bindings/c/attempt.cpp ${PROJECT_SOURCE_DIR}/bindings/c/attempt.hpp
        DESTINATION ${installed_sources}/c)
