# cmake/tool_parts.cmake: what the tool takes where it is there: Chart.js, which becomes part of its pages, and SQLite.

find_file(UNIBUF_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH
          DOC "Chart.js 3, which draws the charts of `unibuf report -o`")
if(NOT UNIBUF_CHART_JS)
    message(STATUS "Pages of `unibuf report` have no charts: chart.min.js is missing (libjs-chart.js)")
endif()

find_package(SQLite3 QUIET)
if(NOT SQLite3_FOUND)
    message(STATUS "`unibuf export` writes no databases: SQLite is missing (libsqlite3-dev)")
endif()

# The pages, as C++. Tools that only read the sources have this target built.
set(embedded_page ${PROJECT_BINARY_DIR}/embedded_page.cpp)
add_custom_command(OUTPUT ${embedded_page}
                   DEPENDS ${PROJECT_SOURCE_DIR}/cli/page.html ${PROJECT_SOURCE_DIR}/docs/errors.md
                           ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
                           $<$<BOOL:${UNIBUF_CHART_JS}>:${UNIBUF_CHART_JS}>
                   COMMAND ${CMAKE_COMMAND} -D "OUTPUT=${embedded_page}" -D "PAGE=${PROJECT_SOURCE_DIR}/cli/page.html"
                           -D "ERRORS=${PROJECT_SOURCE_DIR}/docs/errors.md"
                           -D "CHARTS=$<$<BOOL:${UNIBUF_CHART_JS}>:${UNIBUF_CHART_JS}>"
                           -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
add_custom_target(embedded_page DEPENDS ${embedded_page})

# What starts processes of its own to read what a trace names: a fuzz target has another one.
set(tool_that_asks ${PROJECT_SOURCE_DIR}/cli/addr2line.cpp)

# complete_tool(TARGET [SOURCE]): adds all of the tool but its main, which is compiled once for the program and the Python
# module. SOURCE takes the place of cli/addr2line.cpp.
function(complete_tool target)
    if(NOT TARGET tool_parts)
        file(GLOB parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/*.cpp)
        list(REMOVE_ITEM parts ${PROJECT_SOURCE_DIR}/cli/main.cpp ${tool_that_asks})
        if(APPLE)
            list(FILTER parts EXCLUDE REGEX "_linux\\.cpp$")
        else()
            list(FILTER parts EXCLUDE REGEX "_macos\\.cpp$")
        endif()
        add_library(tool_parts OBJECT ${parts} ${embedded_page})
        add_dependencies(tool_parts embedded_page)
        target_include_directories(tool_parts PUBLIC ${PROJECT_SOURCE_DIR}/cli PRIVATE ${PROJECT_SOURCE_DIR}/include)
        target_compile_definitions(tool_parts PRIVATE UNIBUF_VERSION="${PROJECT_VERSION}")
        target_link_libraries(tool_parts PRIVATE CLI11::CLI11 fmt::fmt-header-only nlohmann_json::nlohmann_json)
        if(SQLite3_FOUND AND NOT UNIBUF_PYTHON_STANDALONE)
            target_link_libraries(tool_parts PUBLIC SQLite::SQLite3)
            target_compile_definitions(tool_parts PRIVATE UNIBUF_TOOL_SQLITE)
        endif()
        unite(tool_parts)
    endif()
    target_link_libraries(${target} PRIVATE tool_parts)
    target_sources(${target} PRIVATE ${ARGN})
    if(NOT ARGN)
        target_sources(${target} PRIVATE ${tool_that_asks})
    endif()
endfunction()
