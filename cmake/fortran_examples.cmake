# cmake/fortran_examples.cmake: one program for each file in examples/fortran/, with the modules, and what of it is C++,
# in the folder of its name.

# add_fortran_example(TARGET NAME [EXTRA_SOURCE...])
function(add_fortran_example target name)
    set(folder ${PROJECT_SOURCE_DIR}/examples/fortran)
    file(GLOB parts CONFIGURE_DEPENDS ${folder}/${name}/*.f90 ${folder}/${name}/*.cpp)
    add_executable(${target} ${folder}/${name}.f90 ${parts} ${ARGN})
    target_link_libraries(${target} PRIVATE unibuf::fortran)
    unite(${target})
    if(CMAKE_Fortran_COMPILER_ID STREQUAL "GNU")
        target_compile_options(${target} PRIVATE
                               "$<$<COMPILE_LANGUAGE:Fortran>:-std=f2018;-Wall;-Wextra;-Wno-c-binding-type>")
    endif()
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples
                                               Fortran_MODULE_DIRECTORY ${PROJECT_BINARY_DIR}/fortran/${target})
endfunction()

add_fortran_example(conv2d_fortran conv2d)
target_link_libraries(conv2d_fortran PRIVATE examples_common)

set(common ${PROJECT_SOURCE_DIR}/examples/fortran/common/example_gpu.f90)
add_fortran_example(heat_fortran heat ${common})
foreach(example phase1_drop_in phase2_direct_access phase3_full_integration)
    add_fortran_example(${example} ${example} ${common})
endforeach()
