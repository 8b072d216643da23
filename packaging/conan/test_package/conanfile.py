"""conanfile.py: a program for each API that the package was made with, built and run."""

import pathlib

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, cmake_layout


class TestUnibuf(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps", "CMakeToolchain", "VirtualRunEnv"

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        self.requires(self.tested_reference_str)

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if not can_run(self):
            return
        options = self.dependencies["unibuf"].options
        programs = ["cpp"] + [api for api in ("c", "fortran") if options.get_safe(api)]
        for program in programs:
            self.run(str(pathlib.Path(self.build_folder, f"consumer_{program}")), env="conanrun")
        if options.tool:
            self.run("unibuf --version", env="conanrun")
