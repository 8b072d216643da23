# cmake/bench.cmake: unibuf_bench, all benchmarks in one program.

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
if(sources AND NOT UNIBUF_SANITIZE)
    find_package(benchmark REQUIRED)
    add_executable(unibuf_bench ${sources})
    target_link_libraries(unibuf_bench PRIVATE unibuf benchmark::benchmark CLI11::CLI11 fmt::fmt-header-only
                                               nlohmann_json::nlohmann_json)
    set_target_properties(unibuf_bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
endif()
