# cmake/mpi_examples.cmake: the examples that need MPI, compiled with the first one that is there; and demo_halo, which
# runs them on two processes and reports what the first of them has copied.

set(demo_halo COMMAND ${CMAKE_COMMAND} -E echo "Left out: the example of MPI. Debian has libopenmpi-dev and openmpi-bin")
if(unibuf_mpis)
    list(GET unibuf_mpis 0 mpi)
    cmake_path(SET pictures NORMALIZE ${PROJECT_BINARY_DIR}/../demo)
    add_tool(halo ${PROJECT_SOURCE_DIR}/examples/halo/*.cpp)
    target_link_libraries(halo PRIVATE examples_common)
    set_target_properties(halo PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
    add_mpi(halo ${mpi})
    set(demo_halo COMMAND ${CMAKE_COMMAND} -E env UNIBUF_TRACE=${pictures}/waves.trace
                          ${${mpi}_mpiexec} -n 2 $<TARGET_FILE:halo> --output ${pictures}/waves.png)
    if(UNIBUF_FORTRAN AND UNIBUF_MPIFORT_${mpi})
        add_fortran_example(halo_fortran halo ${unibuf_fortran_mpi} ${PROJECT_SOURCE_DIR}/examples/halo/heights.cpp)
        target_link_libraries(halo_fortran PRIVATE examples_common)
        add_mpi(halo_fortran ${mpi} FORTRAN)
        add_mpi(halo_fortran ${mpi})
        list(APPEND demo_halo COMMAND ${${mpi}_mpiexec} -n 2 $<TARGET_FILE:halo_fortran> ${pictures}/waves_fortran.png)
    endif()
    if(UNIBUF_TOOLS)
        list(APPEND demo_halo COMMAND unibuf_cli report ${pictures}/waves.trace --force -o ${pictures}/report.html)
    endif()
endif()
add_custom_target(demo_halo COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/../demo ${demo_halo}
                            USES_TERMINAL VERBATIM)
