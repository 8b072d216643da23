# cmake/page.cmake: the page of `unibuf report -o` becomes part of the tool, with the library that draws its charts.

find_file(UNIBUF_CHART_JS chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH
          DOC "Chart.js 3, which draws the charts of `unibuf report -o`")
if(NOT UNIBUF_CHART_JS)
    message(STATUS "Pages of `unibuf report` have no charts: chart.min.js is missing (libjs-chart.js)")
endif()

# Adds the files that the tool shows to its sources.
function(embed_page target)
    set(made ${PROJECT_BINARY_DIR}/embedded_page.cpp)
    set(sources ${PROJECT_SOURCE_DIR}/cli/page.html)
    if(UNIBUF_CHART_JS)
        list(APPEND sources ${UNIBUF_CHART_JS})
    endif()
    add_custom_command(OUTPUT ${made} DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
                       COMMAND ${CMAKE_COMMAND} -D "OUTPUT=${made}" -D "PAGE=${PROJECT_SOURCE_DIR}/cli/page.html"
                               -D "CHARTS=$<$<BOOL:${UNIBUF_CHART_JS}>:${UNIBUF_CHART_JS}>"
                               -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
    target_sources(${target} PRIVATE ${made})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cli)
endfunction()
