# cmake/bench.cmake: unibuf_bench, all benchmarks in one program, which no test needs; it measures the example conv2d too.
# tracking_methods compares ways to find what a program writes.

if(UNIBUF_EXAMPLES AND NOT UNIBUF_SANITIZE)
    find_package(benchmark REQUIRED)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
    list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/bench/tracking_methods.cpp)
    if(UNIBUF_FORTRAN)
        list(APPEND sources ${PROJECT_SOURCE_DIR}/bench/fortran_calls.f90)
    else()
        list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/bench/fortran.cpp)
    endif()
    if(NOT UNIBUF_C)
        list(REMOVE_ITEM sources ${PROJECT_SOURCE_DIR}/bench/c.cpp)
    endif()
    # Arenas are measured without a device.
    list(APPEND sources ${PROJECT_SOURCE_DIR}/src/backends/arena.cpp ${PROJECT_SOURCE_DIR}/src/backends/holes.cpp)
    add_executable(unibuf_bench EXCLUDE_FROM_ALL ${sources})
    unite(unibuf_bench)
    target_include_directories(unibuf_bench PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(unibuf_bench PRIVATE unibuf conv2d_parts examples_common benchmark::benchmark
                                               fmt::fmt-header-only nlohmann_json::nlohmann_json)
    if(UNIBUF_FORTRAN)
        target_link_libraries(unibuf_bench PRIVATE unibuf::fortran)
        target_compile_options(unibuf_bench PRIVATE $<$<COMPILE_LANGUAGE:Fortran>:-std=f2018>)
    endif()
    if(UNIBUF_C)
        target_link_libraries(unibuf_bench PRIVATE unibuf_c)
    endif()
    # Loaded by the one benchmark that is about it: linked, it would be the heap of all of them.
    find_library(UNIBUF_MIMALLOC_LIBRARY mimalloc)
    if(NOT UNIBUF_MIMALLOC_LIBRARY)
        message(STATUS "libmimalloc-dev was not found: pool.pair.mimalloc will be skipped")
        set(UNIBUF_MIMALLOC_LIBRARY "")
    endif()
    set_source_files_properties(${PROJECT_SOURCE_DIR}/bench/pool.cpp PROPERTIES
                                COMPILE_DEFINITIONS UNIBUF_MIMALLOC="${UNIBUF_MIMALLOC_LIBRARY}")
    # For docs/write-tracking.md. It looks inside the library.
    add_executable(tracking_methods EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/tracking_methods.cpp)
    target_link_libraries(tracking_methods PRIVATE unibuf_static fmt::fmt-header-only nlohmann_json::nlohmann_json)
    set_target_properties(unibuf_bench tracking_methods PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
    # The claims about MPI have a program of their own, which bench_mpi runs on two processes.
    set(bench_mpi COMMAND ${CMAKE_COMMAND} -E echo "Left out: the benchmarks of MPI. Debian has libopenmpi-dev and openmpi-bin")
    if(unibuf_mpis)
        list(GET unibuf_mpis 0 mpi)
        file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/mpi/*.cpp)
        foreach(shared claim opencl race settle summary)
            list(APPEND sources ${PROJECT_SOURCE_DIR}/bench/${shared}.cpp)
        endforeach()
        add_executable(unibuf_bench_mpi EXCLUDE_FROM_ALL ${sources})
        unite(unibuf_bench_mpi)
        target_include_directories(unibuf_bench_mpi PRIVATE ${PROJECT_SOURCE_DIR}/bench)
        target_link_libraries(unibuf_bench_mpi PRIVATE unibuf benchmark::benchmark fmt::fmt-header-only
                                                       nlohmann_json::nlohmann_json)
        set_target_properties(unibuf_bench_mpi PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
        add_mpi(unibuf_bench_mpi ${mpi})
        set(bench_mpi COMMAND ${${mpi}_mpiexec} -n 2 $<TARGET_FILE:unibuf_bench_mpi>
                              ${PROJECT_BINARY_DIR}/../bench/mpi.json)
    endif()
    # The null driver takes the place of the machine's own, which the other claims about CUDA are about.
    set(shared claim compared cuda_driver main race settle summary)
    list(TRANSFORM shared REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/bench/\\1.cpp")
    add_executable(unibuf_bench_null EXCLUDE_FROM_ALL ${shared} ${PROJECT_SOURCE_DIR}/bench/null/claims.cpp
                                                      ${PROJECT_SOURCE_DIR}/bench/null/works.cpp)
    unite(unibuf_bench_null)
    target_include_directories(unibuf_bench_null PRIVATE ${PROJECT_SOURCE_DIR}/bench)
    target_link_libraries(unibuf_bench_null PRIVATE unibuf examples_common benchmark::benchmark fmt::fmt-header-only
                                                    nlohmann_json::nlohmann_json)
    set_target_properties(unibuf_bench_null PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
    add_dependencies(unibuf_bench_null cuda_null)
    # Where a bus takes its time, GB/s.
    set(on_slow_buses "")
    foreach(rate 3 12 25)
        list(APPEND on_slow_buses COMMAND ${CMAKE_COMMAND} -E env UNIBUF_NULL_GBPS=${rate}
             --modify LD_LIBRARY_PATH=path_list_prepend:$<TARGET_FILE_DIR:cuda_null>
             $<TARGET_FILE:unibuf_bench_null> --filter ^null.compared)
    endforeach()
    add_custom_target(bench_null
        COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/../bench
        COMMAND ${CMAKE_COMMAND} -E env --modify LD_LIBRARY_PATH=path_list_prepend:$<TARGET_FILE_DIR:cuda_null>
                $<TARGET_FILE:unibuf_bench_null> --json ${PROJECT_BINARY_DIR}/../bench/null.json
        ${on_slow_buses} USES_TERMINAL VERBATIM)
    add_custom_target(bench_mpi COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/../bench ${bench_mpi}
                                USES_TERMINAL VERBATIM)
endif()
