# tests/cross.cmake: the tests for another system than this one: those without RapidCheck, which Debian has compiled only.
# GoogleTest is compiled from Debian's sources.

set(UNIBUF_GOOGLETEST /usr/src/googletest CACHE PATH "The sources of GoogleTest")
set(INSTALL_GTEST OFF)
set(BUILD_SHARED_LIBS OFF)
add_subdirectory(${UNIBUF_GOOGLETEST} ${CMAKE_CURRENT_BINARY_DIR}/googletest EXCLUDE_FROM_ALL SYSTEM)

file(GLOB support CONFIGURE_DEPENDS support/*.cpp ../bindings/c/*.cpp)
add_library(test_support STATIC ${support})
target_include_directories(test_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(test_support PUBLIC unibuf_static gtest gmock fmt::fmt-header-only nlohmann_json::nlohmann_json)
set(usual_headers <gtest/gtest.h> <algorithm> <string> <thread> <vector> <unibuf/unibuf.hpp>)
target_precompile_headers(test_support PRIVATE ${usual_headers})

# add_tests(NAME PATTERN...): a program of the sources that need nothing of RapidCheck's.
function(add_tests name)
    file(GLOB found CONFIGURE_DEPENDS ${ARGN})
    set(sources "")
    foreach(each IN LISTS found)
        file(READ ${each} text)
        if(APPLE AND each MATCHES "_linux_test")
            continue()
        endif()
        if(NOT text MATCHES "rapidcheck|any_region")
            list(APPEND sources ${each})
        endif()
    endforeach()
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE test_support gtest_main)
    target_precompile_headers(${name} PRIVATE ${usual_headers})
endfunction()

add_tests(unit_tests unit/*_test.cpp)
add_tests(fault_tests fault/*_test.cpp)
foreach(api host debug)
    add_tests(contract_${api} contract/contract.cpp contract/*_contract.cpp contract/${api}_test.cpp)
endforeach()
