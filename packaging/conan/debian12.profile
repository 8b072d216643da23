# debian12.profile: Debian 12's compiler, and its packages in the place of Conan Center's.

[settings]
os=Linux
arch={{detect_api.detect_arch()}}
compiler=gcc
compiler.version=12
compiler.libcxx=libstdc++11
compiler.cppstd=20
build_type=Release

[platform_requires]
fmt/9.1.0
cli11/2.1.2
nlohmann_json/3.11.2
sqlite3/3.40.1

[conf]
tools.cmake.cmaketoolchain:generator=Ninja
