# cmake/tools.cmake: the command-line tool, and one program for each folder in examples/.

function(add_tool target)
    file(GLOB sources CONFIGURE_DEPENDS ${ARGN})
    if(NOT sources)
        return()
    endif()
    add_executable(${target} ${sources})
    target_link_libraries(${target} PRIVATE unibuf CLI11::CLI11 fmt::fmt-header-only nlohmann_json::nlohmann_json)
    target_include_directories(${target} SYSTEM PRIVATE ${STB_INCLUDE_DIR})
endfunction()

add_tool(unibuf_cli ${PROJECT_SOURCE_DIR}/cli/*.cpp)
if(TARGET unibuf_cli)
    # In a folder of its own: the build tree's name `unibuf` is the library.
    file(RELATIVE_PATH lib_from_bin "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(unibuf_cli PROPERTIES OUTPUT_NAME unibuf RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/cli
                                                INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
    target_compile_definitions(unibuf_cli PRIVATE UNIBUF_VERSION="${PROJECT_VERSION}")
    install(TARGETS unibuf_cli)
endif()

# What examples share.
file(GLOB common CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/common/*.cpp)
add_library(examples_common STATIC ${common})
target_include_directories(examples_common PUBLIC ${PROJECT_SOURCE_DIR}/examples)
target_link_libraries(examples_common PUBLIC unibuf fmt::fmt-header-only ${CMAKE_DL_LIBS})

file(GLOB examples CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}/examples examples/*)
list(REMOVE_ITEM examples common)
foreach(example IN LISTS examples)
    add_tool(${example} ${PROJECT_SOURCE_DIR}/examples/${example}/*.cpp)
    if(TARGET ${example})
        target_link_libraries(${example} PRIVATE examples_common)
        set_target_properties(${example} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    endif()
endforeach()
