"""conanfile.py: the recipe of unibuf for Conan 2: `conan create packaging/conan`.

The targets of CMake, and the names for pkg-config, are those that unibuf's own installation has. The libraries are
shared: each program that was linked with a static one would have buffers of its own.
"""

import pathlib
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rmdir


class Unibuf(ConanFile):
    name = "unibuf"
    description = "Coherent buffers with copies on the host and on devices: CUDA, OpenGL, OpenCL, Metal"
    license = "Apache-2.0"
    topics = ("gpu", "cuda", "opencl", "opengl", "buffer", "zero-copy")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"c": [True, False], "fortran": [True, False], "tool": [True, False]}
    default_options = {"c": True, "fortran": False, "tool": False}

    @property
    def _tree(self):
        return pathlib.Path(self.recipe_folder, "..", "..")

    def set_version(self):
        self.version = re.search(r"project\(unibuf VERSION ([\d.]+)", (self._tree / "CMakeLists.txt").read_text())[1]

    def export_sources(self):
        tool = ("cli/*", "docs/errors.md")
        for part in ("CMakeLists.txt", "LICENSE", "bindings/*", *tool, "cmake/*", "include/*", "src/*"):
            copy(self, part, self._tree, self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        compiled_in = {"visible": False, "libs": False}
        self.requires("fmt/[>=9 <13]", options={"header_only": True}, **compiled_in)
        if self.options.tool:
            self.requires("cli11/[>=2.1 <3]", **compiled_in)
            self.requires("nlohmann_json/[>=3.11 <4]", **compiled_in)
            self.requires("sqlite3/[>=3.40 <4]", visible=False)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os not in ("Linux", "Macos"):
            raise ConanInvalidConfiguration(f"unibuf runs on Linux and macOS, not on {self.settings.os}")

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        for option, part in {"C": "c", "FORTRAN": "fortran", "TOOLS": "tool"}.items():
            toolchain.cache_variables[f"UNIBUF_{option}"] = bool(self.options.get_safe(part))
        toolchain.cache_variables |= {"UNIBUF_EXAMPLES": False, "UNIBUF_TESTS": False, "UNIBUF_UNITY": True}
        toolchain.cache_variables |= {"UNIBUF_CHART_JS": "", "HELP2MAN": ""}  # which Conan has no packages of
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, pathlib.Path(self.package_folder, "licenses"))
        for written in "lib/cmake", "lib/pkgconfig":  # Conan writes its own
            rmdir(self, pathlib.Path(self.package_folder, written))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "unibuf")
        self.cpp_info.set_property("cmake_target_name", "unibuf::all")
        self._component("unibuf", "unibuf::unibuf", "unibuf", "unibuf")
        if self.options.c:
            self._component("c", "unibuf::c", "unibuf-c", "unibuf_c")
        if self.options.fortran:
            fortran = self._component("fortran", "unibuf::fortran", "unibuf-fortran", "unibuf_fortran")
            fortran.includedirs = ["include/unibuf/fortran"]

    def _component(self, name, target, package, library):
        component = self.cpp_info.components[name]
        component.set_property("cmake_target_name", target)
        component.set_property("pkg_config_name", package)
        component.libs = [library]
        return component
