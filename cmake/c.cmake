# cmake/c.cmake: unibuf_c, the C API, a library of its own.

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bindings/c/*.cpp)
add_library(unibuf_c SHARED ${sources})
add_library(unibuf::c ALIAS unibuf_c)
unite(unibuf_c)
# Two words that were just stored one by one, and are loaded as one vector, cost as much as all the rest of a call.
target_compile_options(unibuf_c PRIVATE -fno-tree-slp-vectorize)
target_include_directories(unibuf_c PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(unibuf_c PRIVATE unibuf)
set_target_properties(unibuf_c PROPERTIES EXPORT_NAME c)
exports(unibuf_c c.map)
