# cmake/suite.cmake: unibuf_suite, known programs whose data are moved by hand, as the Khronos C++ bindings have it, and by
# unibuf.

find_path(OPENCL_HPP_INCLUDE_DIR CL/opencl.hpp)
find_library(OPENCL_LIBRARY OpenCL)
if(UNIBUF_SANITIZE)
    return()
elseif(NOT OPENCL_HPP_INCLUDE_DIR OR NOT OPENCL_LIBRARY)
    message(STATUS "The suite is left out: Debian has opencl-clhpp-headers and ocl-icd-opencl-dev")
    return()
endif()
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/suite/*.cpp)
file(GLOB programs CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/suite/programs/*.cpp)
add_executable(unibuf_suite ${sources} ${programs})
unite(unibuf_suite)
target_include_directories(unibuf_suite PRIVATE ${PROJECT_SOURCE_DIR}/bench/suite)
target_include_directories(unibuf_suite SYSTEM PRIVATE ${OPENCL_HPP_INCLUDE_DIR})
target_compile_definitions(unibuf_suite PRIVATE CL_HPP_ENABLE_EXCEPTIONS CL_HPP_MINIMUM_OPENCL_VERSION=120
                                                CL_HPP_TARGET_OPENCL_VERSION=120)
target_link_libraries(unibuf_suite PRIVATE examples_common ${OPENCL_LIBRARY} fmt::fmt-header-only
                                           nlohmann_json::nlohmann_json)
set_target_properties(unibuf_suite PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)

# All versions of each program have the same result, and unibuf moves just the least.
foreach(program IN LISTS programs)
    cmake_path(GET program STEM name)
    add_test(NAME suite.${name} COMMAND unibuf_suite --program ${name} --small --rounds 1 --check)
    set_tests_properties(suite.${name} PROPERTIES LABELS "opencl;suite" SKIP_RETURN_CODE 77)
endforeach()
