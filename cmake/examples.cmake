# cmake/examples.cmake: one program for each folder in examples/.

# What examples share.
file(GLOB common CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/common/*.cpp)
add_library(examples_common STATIC ${common})
target_include_directories(examples_common PUBLIC ${PROJECT_SOURCE_DIR}/examples)
target_link_libraries(examples_common PUBLIC unibuf fmt::fmt-header-only ${CMAKE_DL_LIBS})

file(GLOB examples CONFIGURE_DEPENDS LIST_DIRECTORIES true RELATIVE ${PROJECT_SOURCE_DIR}/examples examples/*)
list(REMOVE_ITEM examples common halo)
foreach(example IN LISTS examples)
    add_tool(${example} ${PROJECT_SOURCE_DIR}/examples/${example}/*.cpp)
    if(TARGET ${example})
        target_link_libraries(${example} PRIVATE examples_common)
        target_include_directories(${example} SYSTEM PRIVATE ${STB_INCLUDE_DIR})
        set_target_properties(${example} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    endif()
endforeach()

# What is drawn is written by conv2d's pictures.
if(TARGET heat)
    target_sources(heat PRIVATE ${PROJECT_SOURCE_DIR}/examples/conv2d/picture.cpp ${PROJECT_SOURCE_DIR}/examples/conv2d/stb.cpp)
endif()
