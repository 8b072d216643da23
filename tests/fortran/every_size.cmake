# tests/fortran/every_size.cmake: sizes_test tries each argument of the modules that is a size, an offset, a count or a
# shape, so that none is forgotten. It names them, as "view_buffer offset".
#
#   cmake -DMODULES=bindings/fortran -DTEST=sizes_test.f90 -P every_size.cmake

cmake_minimum_required(VERSION 3.25)

file(READ ${TEST} tried)
file(GLOB modules ${MODULES}/*.f90 ${MODULES}/*.fypp)
foreach(module IN LISTS modules)
    file(READ ${module} text)
    # In the template, the procedures that programs call end with the name of a type; others are its own.
    set(end "")
    if(module MATCHES "fypp$")
        set(end "_[$]{name}[$]")
    endif()
    string(REGEX MATCHALL "\n    (subroutine|function) [a-z_]+${end}\\([^)]*\\)" procedures "${text}")
    foreach(procedure IN LISTS procedures)
        string(REGEX REPLACE ".*(subroutine|function) ([a-z_]+)${end}\\(.*" "\\2" name "${procedure}")
        foreach(argument offset size count shape lower upper element_size bytes)
            if(NOT procedure MATCHES "[(, ]${argument}[,)]")
                continue()
            endif()
            if("${name} ${argument}" MATCHES "_handle offset$")
                continue()  # a result
            endif()
            math(EXPR found "0${found} + 1")
            if(NOT tried MATCHES "'${name} ${argument}[ ']")
                message(SEND_ERROR "${name} ${argument} is a size that ${TEST} does not try")
            endif()
        endforeach()
    endforeach()
endforeach()
if(found LESS 20)
    message(FATAL_ERROR "only ${found} sizes were found in the modules of ${MODULES}")
endif()
