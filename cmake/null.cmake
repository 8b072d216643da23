# cmake/null.cmake: the null driver, a libcuda.so.1 whose calls return at once; only LD_LIBRARY_PATH leads to it. It is in a
# folder of its own, with what puts its calls in the place of CuPy's.

if(NOT UNIBUF_SANITIZE)
    set(null ${PROJECT_SOURCE_DIR}/bench/null)
    add_library(cuda_null SHARED ${null}/call.cpp ${null}/device_calls.cpp ${null}/memory_calls.cpp)
    unite(cuda_null)
    target_include_directories(cuda_null PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    set_target_properties(cuda_null PROPERTIES OUTPUT_NAME cuda SOVERSION 1
                                               LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench/null)
    if(UNIBUF_PYTHON)
        add_library(unibuf_null_cupy MODULE ${null}/cupy_calls.cpp)
        target_include_directories(unibuf_null_cupy PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
        target_link_libraries(unibuf_null_cupy PRIVATE cuda_null Python::Module)
        set_target_properties(unibuf_null_cupy PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench/null
                                                          SKIP_BUILD_RPATH ON)
    endif()
endif()
