# cmake/shared.cmake: how all shared libraries are versioned. Until 1.0 a minor version may change what programs were built
# with; the SONAME says so, and so does the CMake package. Symbols have that version, too: where a plugin was built with
# another one, its calls do not end in the library that the program has loaded.

set(compatible ${PROJECT_VERSION_MAJOR})
set(compatibility SameMajorVersion)
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatible ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
    set(compatibility SameMinorVersion)
endif()

if(DEFINED BUILD_SHARED_LIBS AND NOT BUILD_SHARED_LIBS)
    message(FATAL_ERROR "BUILD_SHARED_LIBS is OFF, but unibuf is not built as a static library: each plugin or library that \
is linked with one would have buffers, names and limits of its own, which the rest of the program does not see. Set it \
ON, also where only unibuf is added.")
endif()

# exports(TARGET MAP): what the library exports is in MAP, a version script in which @compatible@ stands for the version.
# Drivers keep threads in it, and traces know it by its address, so it stays where a plugin that uses it goes.
function(exports target map)
    if(APPLE)  # exports what is not hidden
        set_target_properties(${target} PROPERTIES INSTALL_NAME_DIR @rpath INSTALL_RPATH @loader_path)
        get_target_property(kind ${target} TYPE)
        if(kind STREQUAL "SHARED_LIBRARY")  # modules have no version there
            set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${compatible})
        endif()
        return()
    endif()
    set(script ${PROJECT_BINARY_DIR}/${target}.map)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/${map} ${script} @ONLY)
    target_link_options(${target} PRIVATE LINKER:--version-script=${script} LINKER:--as-needed LINKER:-z,nodelete)
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${compatible} INSTALL_RPATH $ORIGIN
                                               LINK_DEPENDS ${script})
endfunction()
