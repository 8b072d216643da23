# cmake/compiler.cmake: the languages, the warnings and the sanitizers of everything that is built here.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE ccache)
foreach(language C CXX)
    if(CCACHE AND NOT CMAKE_${language}_COMPILER_LAUNCHER)
        set(CMAKE_${language}_COMPILER_LAUNCHER ${CCACHE})
    endif()
endforeach()

set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wcast-align -Wcast-qual -Wformat=2 -Wundef
             -Wunused -Wdouble-promotion)
set(cxx_warnings -Wold-style-cast -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi)
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:${warnings}>" "$<$<COMPILE_LANGUAGE:CXX>:${cxx_warnings}>")
if(UNIBUF_WERROR)
    add_compile_options(-Werror)
endif()

# unite(TARGET [FILE...]): in an optimized build compiles the files as one, so that the compiler sees through them; and where
# UNIBUF_UNITY is on, the rest of the target in a unit for each folder, or in one for all of them.
function(unite target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    if(UNIBUF_UNITY)
        get_target_property(sources ${target} SOURCES)
        foreach(source IN LISTS sources)
            cmake_path(GET source PARENT_PATH folder)
            cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
            string(MAKE_C_IDENTIFIER "${folder}" folder)
            if(UNIBUF_UNITY STREQUAL "WHOLE")
                set(folder whole)
            endif()
            set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP "${folder}")
        endforeach()
        target_compile_options(${target} PRIVATE -Wno-shadow)  # names of one file may shadow another's
    endif()
    if(ARGN AND CMAKE_BUILD_TYPE MATCHES "^(Release|RelWithDebInfo|MinSizeRel)$")
        set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP one)
    endif()
endfunction()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Wduplicated-cond;-Wduplicated-branches;-Wlogical-op>")
    # GCC 12 sees overlaps in std::string that are not there (its bug 105651).
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()

# The trace finds by them where the program called.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX,Fortran>:-fno-omit-frame-pointer>)

if(UNIBUF_SANITIZE)
    add_compile_options(-fsanitize=${UNIBUF_SANITIZE} -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${UNIBUF_SANITIZE})
endif()
