# cmake/cost.cmake: what `make cost` counts with: unibuf_cost and unibuf_cost_sizes, and a module for Python; and unibuf_growth, for
# `make growth`. It looks at the instructions of a processor, so it is for one.

if(NOT UNIBUF_C OR UNIBUF_SANITIZE OR NOT CMAKE_SYSTEM_NAME STREQUAL "Linux" OR NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    foreach(each cost growth)
        add_custom_target(${each} COMMAND ${CMAKE_COMMAND} -E echo "Costs are counted on Linux on x86-64, with the C API, without sanitizers"
                                  COMMAND ${CMAKE_COMMAND} -E false)
    endforeach()
    return()
endif()
set(cost ${PROJECT_SOURCE_DIR}/bench/cost)
set(programs ${PROJECT_BINARY_DIR}/bench)

add_library(unibuf_cost_steps OBJECT EXCLUDE_FROM_ALL ${cost}/steps.cpp ${cost}/instruction.cpp ${cost}/count.cpp)
target_include_directories(unibuf_cost_steps PUBLIC ${cost})
unite(unibuf_cost_steps)

add_executable(unibuf_cost EXCLUDE_FROM_ALL ${cost}/main.cpp ${cost}/host.cpp ${cost}/device.cpp ${cost}/c.cpp)
target_link_libraries(unibuf_cost PRIVATE unibuf_cost_steps unibuf unibuf_c)
add_dependencies(unibuf_cost cuda_double)
if(UNIBUF_UNITY STREQUAL "WHOLE")  # what is counted is compiled as users compile it
    unite(unibuf_cost)
endif()

set(growth ${PROJECT_SOURCE_DIR}/bench/growth)
add_executable(unibuf_growth EXCLUDE_FROM_ALL ${growth}/main.cpp ${growth}/buffers.cpp ${growth}/content.cpp ${growth}/holds.cpp
               ${growth}/tracking.cpp)
target_link_libraries(unibuf_growth PRIVATE unibuf_cost_steps unibuf)
unite(unibuf_growth)

add_executable(unibuf_cost_sizes EXCLUDE_FROM_ALL ${cost}/sizes.cpp ${PROJECT_SOURCE_DIR}/bench/heap.cpp)
target_compile_definitions(unibuf_cost_sizes PRIVATE UNIBUF_BUILD_TYPE="${CMAKE_BUILD_TYPE}"
                           UNIBUF_COMPILER="${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
target_link_libraries(unibuf_cost_sizes PRIVATE unibuf unibuf_c nlohmann_json::nlohmann_json)

set_target_properties(unibuf_cost unibuf_cost_sizes unibuf_growth PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${programs})
add_custom_target(cost DEPENDS unibuf_cost unibuf_cost_sizes)
add_custom_target(growth DEPENDS unibuf_growth)

if(UNIBUF_PYTHON)
    Python_add_library(unibuf_cost_native MODULE EXCLUDE_FROM_ALL WITH_SOABI ${cost}/python_native.cpp)
    target_link_libraries(unibuf_cost_native PRIVATE unibuf_cost_steps)
    set_target_properties(unibuf_cost_native PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${programs})
    add_dependencies(cost unibuf_cost_native unibuf_python)
    add_dependencies(growth unibuf_cost_native unibuf_python)
endif()
