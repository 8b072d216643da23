# cmake/fortran.cmake: unibuf_fortran, the Fortran modules. Types and arguments are declared in Fortran; what they do is
# in bindings/fortran/native.

enable_language(Fortran)
find_program(FYPP fypp REQUIRED)

set(bindings ${PROJECT_SOURCE_DIR}/bindings/fortran)
set(generated ${PROJECT_BINARY_DIR}/fortran/gpu_buffer_contents.f90)
add_custom_command(OUTPUT ${generated} COMMAND ${FYPP} ${bindings}/gpu_buffer_contents.fypp ${generated}
                   DEPENDS ${bindings}/gpu_buffer_contents.fypp VERBATIM)
file(GLOB modules CONFIGURE_DEPENDS ${bindings}/*.f90)
file(GLOB native CONFIGURE_DEPENDS ${bindings}/native/*.cpp)

# Interfaces with C use the kinds of iso_fortran_env and default integers, which GCC takes for doubtful.
set(fortran_options -std=f2018 -Wall -Wextra -Wno-c-binding-type)
if(UNIBUF_WERROR)
    list(APPEND fortran_options -Werror)
endif()

add_library(unibuf_fortran SHARED ${modules} ${generated} ${native} ${PROJECT_SOURCE_DIR}/bindings/c/attempt.cpp)
add_library(unibuf::fortran ALIAS unibuf_fortran)
set(module_dir ${PROJECT_BINARY_DIR}/fortran/modules)
set(installed_modules ${CMAKE_INSTALL_INCLUDEDIR}/unibuf/fortran)
target_include_directories(unibuf_fortran PUBLIC $<BUILD_INTERFACE:${module_dir}>
                                                 $<INSTALL_INTERFACE:${installed_modules}>)
target_compile_options(unibuf_fortran PRIVATE $<$<COMPILE_LANGUAGE:Fortran>:${fortran_options}>)
target_link_libraries(unibuf_fortran PRIVATE unibuf)
target_link_options(unibuf_fortran PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/fortran.map
                                           LINKER:--as-needed)
set_target_properties(unibuf_fortran PROPERTIES EXPORT_NAME fortran VERSION ${PROJECT_VERSION}
                                                SOVERSION ${PROJECT_VERSION_MAJOR} INSTALL_RPATH $ORIGIN
                                                Fortran_MODULE_DIRECTORY ${module_dir} CXX_VISIBILITY_PRESET default
                                                LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/fortran.map)
