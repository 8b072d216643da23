# cmake/mpi.cmake: the MPIs of this machine, for tests, examples and benchmarks. The library is built without any.
#
# Sets unibuf_fortran_mpi to the sources of the Fortran module that are compiled with it, and unibuf_mpis to those that are
# there: openmpi, mpich, as Debian has them side by side, or mpi, the one of another
# machine; and for each of them NAME_mpiexec, with its options. add_mpi() lets a target use one.

set(unibuf_fortran_mpi unibuf_mpi_calls.f90 unibuf_mpi.f90 unibuf_mpi_native.c)
list(TRANSFORM unibuf_fortran_mpi PREPEND ${PROJECT_SOURCE_DIR}/bindings/fortran/mpi/)
set(unibuf_mpis "")
foreach(name openmpi mpich mpi)
    if(CMAKE_CROSSCOMPILING)  # what this machine has is no use to another
        break()
    endif()
    if(name STREQUAL mpi)
        if(unibuf_mpis)
            break()
        endif()
        set(suffix "")
    else()
        set(suffix .${name})
    endif()
    find_program(UNIBUF_MPICC_${name} mpicc${suffix})
    find_program(UNIBUF_MPIFORT_${name} mpifort${suffix})
    find_program(UNIBUF_MPIEXEC_${name} mpiexec${suffix})
    mark_as_advanced(UNIBUF_MPICC_${name} UNIBUF_MPIFORT_${name} UNIBUF_MPIEXEC_${name})
    if(NOT UNIBUF_MPICC_${name} OR NOT UNIBUF_MPIEXEC_${name})
        continue()
    endif()
    list(APPEND unibuf_mpis ${name})
    execute_process(COMMAND ${UNIBUF_MPIEXEC_${name}} --version OUTPUT_VARIABLE said ERROR_QUIET)
    set(${name}_mpiexec ${UNIBUF_MPIEXEC_${name}})
    if(said MATCHES "Open MPI|OpenRTE|PRRTE")
        # Tests have more processes than cores, and run as root in containers.
        list(APPEND ${name}_mpiexec --oversubscribe --allow-run-as-root)
    endif()
endforeach()
if(NOT unibuf_mpis)
    message(STATUS "Left out: tests and examples of MPI. On Debian: sudo apt-get install libopenmpi-dev openmpi-bin")
endif()

# add_mpi(TARGET NAME [FORTRAN]): compiles and links a target with an MPI, by what its compiler wrapper says.
function(add_mpi target name)
    set(wrapper ${UNIBUF_MPICC_${name}})
    if("FORTRAN" IN_LIST ARGN)
        set(wrapper ${UNIBUF_MPIFORT_${name}})
    endif()
    execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE
                    COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(flags UNIX_COMMAND "${said}")
    target_compile_definitions(${target} PRIVATE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)  # the C++ bindings of old
    foreach(flag IN LISTS flags)
        if(flag MATCHES "^-I(.+)")
            target_include_directories(${target} SYSTEM PRIVATE ${CMAKE_MATCH_1})
        elseif(flag MATCHES "^-L(.+)")
            target_link_directories(${target} PRIVATE ${CMAKE_MATCH_1})
        elseif(flag MATCHES "^-l(.+)")
            target_link_libraries(${target} PRIVATE ${CMAKE_MATCH_1})
        elseif(flag MATCHES "^-(f|std=)" AND "FORTRAN" IN_LIST ARGN AND NOT flag MATCHES "prefix-map|stack-protector")
            target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:Fortran>:${flag}>)
        endif()
    endforeach()
endfunction()
