#!/bin/bash
# conan.sh FOLDER: the package of packaging/conan, built and used by Conan, which keeps all that it has in FOLDER. What unibuf
# is built with is Debian's: nothing comes from Conan Center.
set -euo pipefail
cd "$(dirname "$0")/.."

CONAN_HOME=$(realpath -m "$1")
export CONAN_HOME
conan=build/conan-tools/bin/conan
scripts/python-environment.sh build/conan-tools packaging/conan/requirements.txt
"$conan" remote disable '*' >/dev/null
"$conan" create packaging/conan --profile:all packaging/conan/debian12.profile --no-remote --build=missing \
    --conf tools.cmake.cmake_layout:test_folder="$CONAN_HOME/test" --conf tools.cmake.cmaketoolchain:user_presets='' \
    --options '&:fortran=True' --options '&:tool=True'
"$conan" list 'unibuf/*:*'
