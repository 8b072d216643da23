# cmake/examples.cmake: one program for each folder in examples/.

# What examples share.
set(conv2d ${PROJECT_SOURCE_DIR}/examples/conv2d)
set(pictures ${conv2d}/picture.cpp ${conv2d}/stb.cpp)
file(GLOB common CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/common/*.cpp)
add_library(examples_common STATIC ${common} ${pictures} ${conv2d}/opengl_api.cpp)
unite(examples_common)
set_source_files_properties(${conv2d}/stb.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)  # bodies of headers that others include
target_include_directories(examples_common PUBLIC ${PROJECT_SOURCE_DIR}/examples)
target_include_directories(examples_common SYSTEM PRIVATE ${STB_INCLUDE_DIR})
target_link_libraries(examples_common PUBLIC unibuf fmt::fmt-header-only ${CMAKE_DL_LIBS} PRIVATE CLI11::CLI11)

# All of conv2d but its main: the benchmarks measure it too.
file(GLOB parts CONFIGURE_DEPENDS ${conv2d}/*.cpp)
list(REMOVE_ITEM parts ${conv2d}/main.cpp ${pictures} ${conv2d}/opengl_api.cpp)
add_library(conv2d_parts OBJECT ${parts})
unite(conv2d_parts)
target_link_libraries(conv2d_parts PUBLIC examples_common nlohmann_json::nlohmann_json)

file(GLOB examples CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}/examples examples/*)
list(REMOVE_ITEM examples common conv2d halo)
foreach(example IN LISTS examples)
    add_tool(${example} ${PROJECT_SOURCE_DIR}/examples/${example}/*.cpp)
endforeach()
add_tool(conv2d ${conv2d}/main.cpp)
target_link_libraries(conv2d PRIVATE conv2d_parts)
foreach(example IN LISTS examples ITEMS conv2d)
    if(TARGET ${example})
        target_link_libraries(${example} PRIVATE examples_common)
        set_target_properties(${example} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    endif()
endforeach()
