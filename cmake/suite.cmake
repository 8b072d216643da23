# cmake/suite.cmake: unibuf_suite, known programs whose data are moved by hand and by unibuf.

if(NOT UNIBUF_SANITIZE)
    file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/suite/*.cpp)
    list(APPEND sources ${PROJECT_SOURCE_DIR}/bench/opencl.cpp ${PROJECT_SOURCE_DIR}/examples/common/opencl_api.cpp)
    add_executable(unibuf_suite ${sources})
    target_include_directories(unibuf_suite PRIVATE ${PROJECT_SOURCE_DIR}/bench ${PROJECT_SOURCE_DIR}/examples)
    target_link_libraries(unibuf_suite PRIVATE unibuf CLI11::CLI11 fmt::fmt-header-only nlohmann_json::nlohmann_json)
    set_target_properties(unibuf_suite PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
endif()
