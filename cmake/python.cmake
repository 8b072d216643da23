# cmake/python.cmake: the Python package: the extension module unibuf._native, and beside it what is written in Python.

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

set(package ${PROJECT_BINARY_DIR}/python/unibuf)
file(GLOB native CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bindings/python/native/*.cpp)
nanobind_add_module(unibuf_python STABLE_ABI NB_STATIC NOMINSIZE NB_SUPPRESS_WARNINGS ${native})
target_link_libraries(unibuf_python PRIVATE unibuf)
target_compile_definitions(unibuf_python PRIVATE UNIBUF_VERSION="${PROJECT_VERSION}")
set_target_properties(unibuf_python PROPERTIES OUTPUT_NAME _native LIBRARY_OUTPUT_DIRECTORY ${package}
                                               INSTALL_RPATH $ORIGIN)
foreach(library nanobind-static nanobind-static-abi3)
    if(TARGET ${library})
        target_compile_options(${library} PRIVATE -w)
    endif()
endforeach()

# In the build folder the package is links to its sources.
file(GLOB modules CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/bindings/python/unibuf
     ${PROJECT_SOURCE_DIR}/bindings/python/unibuf/*.py ${PROJECT_SOURCE_DIR}/bindings/python/unibuf/py.typed)
file(MAKE_DIRECTORY ${package})
foreach(module IN LISTS modules)
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/bindings/python/unibuf/${module} ${package}/${module} SYMBOLIC)
endforeach()

nanobind_add_stub(unibuf_python_stub MODULE unibuf._native OUTPUT ${package}/_native.pyi
                  PATTERN_FILE ${PROJECT_SOURCE_DIR}/bindings/python/native/stub.pat
                  PYTHON_PATH ${PROJECT_BINARY_DIR}/python DEPENDS unibuf_python)

# The wheel has the library beside the module.
install(TARGETS unibuf_python LIBRARY DESTINATION unibuf COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS unibuf LIBRARY DESTINATION unibuf COMPONENT python EXCLUDE_FROM_ALL NAMELINK_SKIP)
install(FILES ${package}/_native.pyi DESTINATION unibuf COMPONENT python EXCLUDE_FROM_ALL)
