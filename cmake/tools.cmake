# cmake/tools.cmake: the command-line tool, and how programs that are built like it are added.

function(add_tool target)
    file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
    if(NOT sources)
        return()
    endif()
    add_executable(${target} ${sources})
    target_link_libraries(${target} PRIVATE unibuf fmt::fmt-header-only nlohmann_json::nlohmann_json)
endfunction()

if(UNIBUF_TOOLS)
    add_tool(unibuf_cli ${PROJECT_SOURCE_DIR}/cli/main.cpp)
    complete_tool(unibuf_cli)
    # In a folder of its own: the build tree's name `unibuf` is the library.
    file(RELATIVE_PATH lib_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set(here $ORIGIN)
    if(APPLE)
        set(here @loader_path)
    endif()
    set_target_properties(unibuf_cli PROPERTIES OUTPUT_NAME unibuf RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/cli
                                                INSTALL_RPATH "${here}/${lib_from_bin}")
    install(TARGETS unibuf_cli)
endif()

if(UNIBUF_MAN_PAGES)
    set(pages ${PROJECT_BINARY_DIR}/man)
    add_custom_command(OUTPUT ${pages}/unibuf.1 DEPENDS unibuf_cli ${PROJECT_SOURCE_DIR}/scripts/man-pages.sh
                       COMMAND ${PROJECT_SOURCE_DIR}/scripts/man-pages.sh $<TARGET_FILE:unibuf_cli> ${pages} VERBATIM)
    add_custom_target(man_pages ALL DEPENDS ${pages}/unibuf.1)
    install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
