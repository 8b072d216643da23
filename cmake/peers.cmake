# cmake/peers.cmake: unibuf_peers, programs that measure other libraries and unibuf in turns; each where its library is found.
# `make build` leaves them out. scripts/peers.sh runs them.

if(NOT UNIBUF_SANITIZE)
    add_custom_target(unibuf_peers)
    set(peers_missing "")
    add_library(peers_common STATIC EXCLUDE_FROM_ALL
        ${PROJECT_SOURCE_DIR}/bench/peers/works.cpp ${PROJECT_SOURCE_DIR}/bench/peers/moved.cpp
        ${PROJECT_SOURCE_DIR}/bench/peers/by_unibuf.cpp ${PROJECT_SOURCE_DIR}/bench/opencl.cpp
        ${PROJECT_SOURCE_DIR}/examples/common/opencl_api.cpp)
    unite(peers_common)
    target_include_directories(peers_common PUBLIC ${PROJECT_SOURCE_DIR}/bench ${PROJECT_SOURCE_DIR}/examples)
    target_link_libraries(peers_common PUBLIC unibuf fmt::fmt-header-only nlohmann_json::nlohmann_json)

    # add_peer(NAME PACKAGE HEADERS;LIBRARIES): the program of bench/peers/NAME.cpp, or what is missing for it.
    function(add_peer name package found)
        if(found MATCHES NOTFOUND)
            message(STATUS "Left out: the peer ${name}. Debian has ${package}")
            set(peers_missing ${peers_missing} "${name}: ${package} is not installed" PARENT_SCOPE)
            return()
        endif()
        list(POP_FRONT found headers)
        add_executable(peer_${name} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/peers/${name}.cpp)
        target_include_directories(peer_${name} SYSTEM PRIVATE ${headers})
        target_link_libraries(peer_${name} PRIVATE peers_common ${found})
        set_target_properties(peer_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/peers)
        add_dependencies(unibuf_peers peer_${name})
    endfunction()

    add_peer(by_hand "" "")
    # Without their CMake packages: Debian's one of Kokkos names a folder that is not there, and OpenCV's comes with all of it.
    find_path(UNIBUF_OPENCV_HEADERS opencv2/core/ocl.hpp PATH_SUFFIXES opencv4)
    find_library(UNIBUF_OPENCV opencv_core)
    add_peer(umat libopencv-core-dev "${UNIBUF_OPENCV_HEADERS};${UNIBUF_OPENCV}")
    find_path(UNIBUF_KOKKOS_HEADERS Kokkos_DualView.hpp PATH_SUFFIXES trilinos)
    find_library(UNIBUF_KOKKOS trilinos_kokkoscore)
    add_peer(dualview libtrilinos-kokkos-dev "${UNIBUF_KOKKOS_HEADERS};${UNIBUF_KOKKOS};${CMAKE_DL_LIBS}")
    find_path(UNIBUF_STARPU_HEADERS starpu.h PATH_SUFFIXES starpu/1.3)
    find_library(UNIBUF_STARPU starpu-1.3)
    add_peer(starpu libstarpu-dev "${UNIBUF_STARPU_HEADERS};${UNIBUF_STARPU}")

    # What counts the bytes, between the programs and the driver.
    find_path(UNIBUF_OPENCL_HEADERS CL/cl_layer.h)
    if(UNIBUF_OPENCL_HEADERS)
        add_library(peers_layer MODULE EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/bench/peers/layer.cpp)
        target_include_directories(peers_layer SYSTEM PRIVATE ${UNIBUF_OPENCL_HEADERS})
        target_compile_definitions(peers_layer PRIVATE CL_TARGET_OPENCL_VERSION=300)
        set_target_properties(peers_layer PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/peers PREFIX "")
        add_dependencies(unibuf_peers peers_layer)
    else()
        list(APPEND peers_missing "bytes of peers: opencl-c-headers is not installed")
    endif()
    list(JOIN peers_missing "\n" peers_missing)
    file(WRITE ${PROJECT_BINARY_DIR}/peers/missing.txt "${peers_missing}\n")
endif()
