# cmake/dependencies.cmake: libraries that the tool, the examples and the tests use; the library itself uses none of them.

find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
if(UNIBUF_EXAMPLES OR UNIBUF_TESTS)
    find_path(STB_INCLUDE_DIR stb_image.h PATH_SUFFIXES stb REQUIRED)
endif()
