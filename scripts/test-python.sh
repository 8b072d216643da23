#!/bin/bash
# test-python.sh VERSION [--wheel FILE] [TEST...]: runs the tests of the Python package, or those that are named (threads,
# buffer, ...), with this Python: 3.13, 3.14t, ... The package is built for it, or is what the wheel installs, in an
# environment where nothing else of this project is. What PyPI does not have for that Python is left out, and said. With
# 3.14t-tsan Python and the package are built with Clang's thread sanitizer: NumPy and all else that PyPI has is not.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$1
shift
wheel=
if [[ ${1:-} == --wheel ]]; then
    wheel=$2
    shift 2
fi
packages='^[^#]' out='^(mypy|ruff)' preset=release
if [[ $version == *-tsan ]]; then
    packages='^(nanobind|numpy|pytest|hypothesis)=' preset=tsan  # all takes ten times as long there
    export TSAN_OPTIONS=report_bugs=0  # before the tests
fi
python=$(scripts/python-interpreter.sh "$version" build/pythons)
folder=$PWD/build/python-$version
environment=$folder/venv
if [[ ! -f $environment/complete ]]; then
    "$python" -m venv --clear "$environment"
    # One by one: what one package lacks does not keep the others away.
    grep -E "$packages" tests/python/requirements.txt | grep -vE "$out" | while read -r package; do
        "$environment/bin/python" -m pip install --quiet --only-binary :all: "$package" 2>/dev/null ||
            echo "Left out, as there is none for Python $version: $package"
    done
    touch "$environment/complete"
fi

"$environment/bin/python" -m pip uninstall --quiet --yes unibuf unibuf-python 2>/dev/null
if [[ $wheel ]]; then
    # Neither a compiler nor anything else of the machine is needed.
    env -i HOME="$folder" PATH=/nonexistent "$environment/bin/python" -m pip install --quiet --no-index "$wheel"
    path=compat/pydotcompute
else
    cmake --preset "$preset" -B "$folder" -D UNIBUF_PYTHON=ON -D UNIBUF_FORTRAN=OFF -D UNIBUF_TOOLS=OFF \
        -D UNIBUF_TESTS=OFF -D UNIBUF_EXAMPLES=OFF -D Python_EXECUTABLE="$environment/bin/python"
    cmake --build "$folder" --target unibuf_python_stub
    path=$folder/python:compat/pydotcompute
fi

tests=()
for name in "$@"; do tests+=("tests/python/${name}_test.py"); done
if ((${#tests[@]} == 0)); then
    for file in tests/python/*_test.py; do
        # These need the doubles of drivers, a type checker, and a build of their own.
        [[ $file =~ /(cuda_.*|typing|wheel)_test.py ]] || tests+=("$file")
    done
fi
# A package that asks for the interpreter's lock would put it back for all of them.
if [[ $version == *t || $version == *t-tsan ]]; then export PYTHON_GIL=0; fi
if [[ $version == *-tsan ]]; then
    cat tests/sanitizers/{tsan,python}.supp "build/pythons/$version/suppressions_free_threading.txt" >"$folder/tsan.supp"
    export TSAN_OPTIONS="suppressions='$folder/tsan.supp':allocator_may_return_null=1:log_path='$folder/report'"
    rm -f "$folder"/report.*
    trap 'cat "$folder"/report.* 2>/dev/null || true' EXIT  # pytest would show only those of tests that fail
    # Drivers are not instrumented: how their threads synchronize is not seen.
    export OCL_ICD_VENDORS=/nonexistent __EGL_VENDOR_LIBRARY_DIRS=/nonexistent
fi
export PYTHONPATH=$path PYTHONDONTWRITEBYTECODE=1
failed=()
for file in "${tests[@]}"; do  # each in a process of its own, as CTest runs them
    echo "== ${file##*/}"
    "$environment/bin/python" -m pytest -q "$file" || failed+=("$file")
done
if ((${#failed[@]})); then
    echo "Failed with Python $version: ${failed[*]}" >&2
    exit 1
fi
