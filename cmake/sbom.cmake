# cmake/sbom.cmake: what others have written that is inside the libraries, the tool and the Python module, as a file of
# CycloneDX 1.6 for each of them. Drivers are loaded at run time, and the C and C++ runtimes are the system's: they are no
# part, but for those inside a wheel.

# part(NAME VERSION LICENSE ORIGIN INCLUDES): one of them, for those below. ORIGIN is a package URL without the version,
# INCLUDES what its headers begin with in #include.
function(part name version license origin includes)
    if(version)
        string(APPEND origin "@${version}")
        set(version "\n      \"version\": \"${version}\",")
    endif()
    set(part_${name} "    {
      \"type\": \"library\",
      \"bom-ref\": \"${origin}\",
      \"name\": \"${name}\",${version}
      \"licenses\": [{\"expression\": \"${license}\"}],
      \"purl\": \"${origin}\",
      \"properties\": [{\"name\": \"unibuf:include\", \"value\": \"${includes}\"}]
    }" PARENT_SCOPE)
    set(reference_${name} "\"${origin}\"" PARENT_SCOPE)
endfunction()

# write_sbom(NAME TYPE PART...): NAME.cdx.json in the build folder. TYPE is application or library.
function(write_sbom name type)
    set(components)
    set(references)
    foreach(part IN LISTS ARGN)
        list(APPEND components "${part_${part}}")
        list(APPEND references "${reference_${part}}")
    endforeach()
    list(JOIN components ",\n" components)
    list(JOIN references ", " references)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cdx.json @ONLY CONTENT [[{
  "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
  "bomFormat": "CycloneDX",
  "specVersion": "1.6",
  "version": 1,
  "metadata": {
    "component": {
      "type": "@type@",
      "bom-ref": "@name@",
      "name": "@name@",
      "version": "@PROJECT_VERSION@",
      "licenses": [{"expression": "Apache-2.0"}]
    }
  },
  "components": [
@components@
  ],
  "dependencies": [{"ref": "@name@", "dependsOn": [@references@]}]
}
]])
endfunction()

part(fmt "${fmt_VERSION}" MIT pkg:github/fmtlib/fmt fmt/)
write_sbom(libunibuf library fmt)
install(FILES ${PROJECT_BINARY_DIR}/libunibuf.cdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})

# What the tool takes, as tool_parts.cmake found it.
set(parts_of_tool fmt CLI11 nlohmann-json)
part(CLI11 "${CLI11_VERSION}" BSD-3-Clause pkg:github/CLIUtils/CLI11 CLI/)
part(nlohmann-json "${nlohmann_json_VERSION}" MIT pkg:github/nlohmann/json nlohmann/)
if(UNIBUF_CHART_JS)
    file(STRINGS ${UNIBUF_CHART_JS} chart_version REGEX "Chart\\.js v[0-9.]+" LIMIT_INPUT 1000)
    string(REGEX REPLACE ".*Chart\\.js v([0-9.]+).*" "\\1" chart_version "${chart_version}")
    part(Chart.js "${chart_version}" MIT pkg:npm/chart.js "")
    list(APPEND parts_of_tool Chart.js)
endif()
if(SQLite3_FOUND AND NOT UNIBUF_PYTHON_STANDALONE)
    part(SQLite "${SQLite3_VERSION}" blessing pkg:github/sqlite/sqlite sqlite3.h)  # not inside, but linked
    list(APPEND parts_of_tool SQLite)
endif()
if(UNIBUF_TOOLS)
    write_sbom(unibuf-tool application ${parts_of_tool})
    install(FILES ${PROJECT_BINARY_DIR}/unibuf-tool.cdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

# The metadata of a wheel has it by PEP 770.
if(UNIBUF_PYTHON)
    part(nanobind "${nanobind_VERSION}" BSD-3-Clause pkg:pypi/nanobind nanobind/)
    part(robin-map "" MIT pkg:github/Tessil/robin-map tsl/)  # that which nanobind brings along
    set(parts_of_module nanobind robin-map)
    if(UNIBUF_PYTHON_TOOL)
        list(APPEND parts_of_module ${parts_of_tool})
    endif()
    if(UNIBUF_PYTHON_STANDALONE)
        list(APPEND parts_of_module fmt)
        list(REMOVE_DUPLICATES parts_of_module)
        if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")  # zig's
            part(libc++ "${CMAKE_CXX_COMPILER_VERSION}" "Apache-2.0 WITH LLVM-exception" pkg:github/llvm/llvm-project "")
            list(APPEND parts_of_module libc++)
        endif()
    endif()
    write_sbom(unibuf-python library ${parts_of_module})
    if(SKBUILD_METADATA_DIR)
        install(FILES ${PROJECT_BINARY_DIR}/unibuf-python.cdx.json DESTINATION ${SKBUILD_METADATA_DIR}/sboms
                COMPONENT python EXCLUDE_FROM_ALL)
    endif()
endif()
