# cmake/library.cmake: unibuf, the shared library; and unibuf_static, for tests that look inside.

find_package(Threads REQUIRED)
find_package(fmt QUIET)
if(NOT fmt_FOUND)
    message(FATAL_ERROR "{fmt} was not found. On Debian:\n  sudo apt-get install libfmt-dev")
endif()

# What only one system has is in files that are named for it.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp)
if(APPLE)
    list(FILTER sources EXCLUDE REGEX "_linux\\.cpp$")
else()
    list(FILTER sources EXCLUDE REGEX "_macos\\.cpp$")
endif()

# The calls that an access of current bytes makes are between these.
set(access_path access/ends access/lock access/passage access/queued_work access/usual_answer buffer/core buffer/holds buffer/work_list
           coherence/directory memory/copies verbs/buffer verbs/leases)
list(TRANSFORM access_path REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/src/\\1.cpp")

add_library(unibuf_objects OBJECT ${sources})
target_include_directories(unibuf_objects PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
unite(unibuf_objects ${access_path})
target_link_libraries(unibuf_objects PRIVATE fmt::fmt-header-only PUBLIC Threads::Threads ${CMAKE_DL_LIBS})

add_library(unibuf_static STATIC EXCLUDE_FROM_ALL)
target_link_libraries(unibuf_static PUBLIC unibuf_objects)

add_library(unibuf SHARED)
add_library(unibuf::unibuf ALIAS unibuf)
target_compile_features(unibuf PUBLIC cxx_std_20)
target_include_directories(unibuf PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                         $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(unibuf PRIVATE $<BUILD_INTERFACE:unibuf_objects>)
exports(unibuf exports.map)
