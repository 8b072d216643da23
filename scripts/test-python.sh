#!/bin/bash
# test-python.sh VERSION [TEST...]: builds the Python package for this Python (3.13, 3.14t, ...) and runs its tests there,
# or those that are named: threads, buffer, ... What the packages on the index do not have for it is left out, and said.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$1
shift
python=$(scripts/python-interpreter.sh "$version" build/pythons)
folder=$PWD/build/python-$version
environment=$folder/venv
if [[ ! -d $environment ]]; then
    "$python" -m venv "$environment"
    # One by one: what one package lacks does not keep the others away.
    grep -vE '^(#|mlx|mpi|mypy|ruff)' tests/python/requirements.txt | while read -r package; do
        "$environment/bin/python" -m pip install --quiet --only-binary :all: "$package" ||
            echo "Left out for Python $version: $package"
    done
fi
cmake --preset release -B "$folder" -D UNIBUF_FORTRAN=OFF -D UNIBUF_TOOLS=OFF -D UNIBUF_TESTS=OFF \
    -D UNIBUF_EXAMPLES=OFF -D Python_EXECUTABLE="$environment/bin/python"
cmake --build "$folder" --target unibuf_python_stub

tests=()
for name in "$@"; do tests+=("tests/python/${name}_test.py"); done
if ((${#tests[@]} == 0)); then
    for file in tests/python/*_test.py; do
        # These need the doubles of drivers, a type checker, and a build of their own.
        [[ $file =~ /(cuda_.*|typing|wheel)_test.py ]] || tests+=("$file")
    done
fi
# A package that asks for the interpreter's lock would put it back for all of them.
if [[ $version == *t ]]; then export PYTHON_GIL=0; fi
PYTHONPATH=$folder/python:compat/pydotcompute PYTHONDONTWRITEBYTECODE=1 \
    "$environment/bin/python" -m pytest -q "${tests[@]}"
