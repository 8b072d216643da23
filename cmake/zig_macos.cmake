# cmake/zig_macos.cmake: what CMake knows of macOS only where it runs on one. CMAKE_USER_MAKE_RULES_OVERRIDE names this.
set(CMAKE_SHARED_LIBRARY_RUNTIME_C_FLAG -Wl,-rpath,)
