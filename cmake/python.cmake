# cmake/python.cmake: the Python package: the extension module unibuf._native, and beside it what is written in Python.

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
             OPTIONAL_COMPONENTS Development.SABIModule)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir OUTPUT_VARIABLE nanobind_ROOT
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
find_package(nanobind CONFIG REQUIRED)

set(package ${PROJECT_BINARY_DIR}/python/unibuf)
file(GLOB native CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bindings/python/native/*.cpp)
# With a domain of its own: what other packages have of nanobind, of whatever version, stays apart.
nanobind_add_module(unibuf_python STABLE_ABI FREE_THREADED NB_STATIC NB_DOMAIN unibuf NOMINSIZE NB_SUPPRESS_WARNINGS
                    ${native})
target_compile_definitions(unibuf_python PRIVATE UNIBUF_VERSION="${PROJECT_VERSION}")
target_include_directories(unibuf_python PRIVATE ${PROJECT_SOURCE_DIR}/cli)
set_target_properties(unibuf_python PROPERTIES OUTPUT_NAME _native LIBRARY_OUTPUT_DIRECTORY ${package})
if(UNIBUF_PYTHON_STANDALONE)
    target_link_libraries(unibuf_python PRIVATE unibuf_static)
    target_compile_definitions(unibuf_python PRIVATE UNIBUF_PYTHON_STANDALONE)
    if(NOT APPLE)  # whose loader never unloads a module, and which exports what is not hidden
        target_link_options(unibuf_python PRIVATE LINKER:-z,nodelete
                                                  LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/python.map)
    endif()
else()
    exports(unibuf_python python_beside.map)
    target_link_libraries(unibuf_python PRIVATE unibuf)
    set_target_properties(unibuf_python PROPERTIES INSTALL_RPATH $<IF:$<BOOL:${APPLE}>,@loader_path,$ORIGIN>)
endif()

# `python -m unibuf` is the command-line tool, where what it is written with is there.
find_package(CLI11 QUIET)
find_package(nlohmann_json QUIET)
set(UNIBUF_PYTHON_TOOL AUTO)
settle(UNIBUF_PYTHON_TOOL "the tool `python -m unibuf`" "libcli11-dev nlohmann-json3-dev" CLI11_FOUND nlohmann_json_FOUND)
if(UNIBUF_PYTHON_TOOL)
    complete_tool(unibuf_python)
    target_compile_definitions(unibuf_python PRIVATE UNIBUF_PYTHON_TOOL)
    target_link_libraries(unibuf_python PRIVATE CLI11::CLI11 fmt::fmt-header-only nlohmann_json::nlohmann_json)
endif()
unite(unibuf_python)
foreach(library nanobind-static nanobind-static-abi3 nanobind-static-ft)
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

# What the module is for another machine, this one cannot ask.
set(stub ${package}/_native.pyi)
if(UNIBUF_PYTHON_STUB)
    set(stub ${UNIBUF_PYTHON_STUB})
else()
    nanobind_add_stub(unibuf_python_stub MODULE unibuf._native OUTPUT ${stub}
                      PATTERN_FILE ${PROJECT_SOURCE_DIR}/bindings/python/native/stub.pat
                      PYTHON_PATH ${PROJECT_BINARY_DIR}/python DEPENDS unibuf_python)
endif()

# The wheel has the library beside the module, or inside it.
install(TARGETS unibuf_python LIBRARY DESTINATION unibuf COMPONENT python EXCLUDE_FROM_ALL)
if(NOT UNIBUF_PYTHON_STANDALONE)
    install(TARGETS unibuf LIBRARY DESTINATION unibuf COMPONENT python EXCLUDE_FROM_ALL NAMELINK_SKIP)
endif()
install(FILES ${stub} DESTINATION unibuf COMPONENT python EXCLUDE_FROM_ALL)
