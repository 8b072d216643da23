# tests/c/every_size.cmake: each parameter of the C API that is a size, an offset or a count has a trial in c_sizes, so
# that none is forgotten.
#
#   cmake -DINCLUDE=include/unibuf -DPROGRAM=c_sizes -P every_size.cmake

cmake_minimum_required(VERSION 3.25)

set(sizes "size_t|uint64_t|const size_t\\*|const unibuf_(access|standing)_options\\*|const unibuf_wanted_lease\\*|const unibuf_native\\*")
foreach(header unibuf unibuf_trace cuda metal opencl opengl)
    file(READ ${INCLUDE}/${header}.h text)
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "[ \n]+" " " text "${text}")
    string(REGEX MATCHALL "UNIBUF_C_API [^;]*\\)" functions "${text}")
    foreach(function IN LISTS functions)
        string(REGEX REPLACE "^[^(]*[ *](unibuf_[a-z_]+)\\(.*" "\\1" name "${function}")
        string(REGEX MATCHALL "[(,] ?(${sizes}) [a-z_]+" parameters "${function}")
        foreach(parameter IN LISTS parameters)
            string(REGEX REPLACE ".* " "" parameter "${parameter}")
            list(APPEND declared "${name} ${parameter}")
        endforeach()
    endforeach()
endforeach()

execute_process(COMMAND ${PROGRAM} --list OUTPUT_VARIABLE tried COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\n" ";" tried "${tried}")
list(LENGTH declared count)
if(count LESS 40)
    message(FATAL_ERROR "only ${count} sizes were found in the headers of ${INCLUDE}")
endif()
foreach(each IN LISTS declared)
    if(NOT each IN_LIST tried)
        message(SEND_ERROR "${each} is a size that tests/c/sizes_trials.c does not try")
    endif()
endforeach()
foreach(each IN LISTS tried)
    if(each AND NOT each IN_LIST declared)
        message(SEND_ERROR "${each} is tried, and is no size in the headers")
    endif()
endforeach()
