# cmake/embed.cmake: writes OUTPUT, a source file with the bytes of PAGE, of ERRORS, and of CHARTS, which may be none.

set(text "// Made of files by cmake/embed.cmake.\n#include \"explain.hpp\"\n#include \"page.hpp\"\n\nnamespace {\n\n")
foreach(name PAGE ERRORS CHARTS)
    set(bytes "")
    if(${name})
        file(READ ${${name}} hex HEX)
        string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
    endif()
    string(APPEND text "constexpr unsigned char ${name}[] = {${bytes}0};\n")  # the 0 is not part of the file
endforeach()
string(APPEND text "\n}  // namespace\n\nnamespace unibuf_cli {\n
const std::string_view page_template(reinterpret_cast<const char*>(PAGE), sizeof PAGE - 1);
const std::string_view errors_page(reinterpret_cast<const char*>(ERRORS), sizeof ERRORS - 1);
const std::string_view chart_library(reinterpret_cast<const char*>(CHARTS), sizeof CHARTS - 1);

}  // namespace unibuf_cli\n")
file(WRITE ${OUTPUT} "${text}")
