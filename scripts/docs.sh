#!/bin/bash
# docs.sh: makes the site build/docs from the documents, the headers, the Fortran modules and the Python package, and checks it.
set -euo pipefail
cd "$(dirname "$0")/.."
parts=build/docs-parts
python=build/docs-venv/bin/python
export PYTHONDONTWRITEBYTECODE=1

scripts/python-environment.sh build/docs-venv docs/site/requirements.txt
cmake --preset release --log-level=ERROR
cmake --build --preset release --target unibuf_python_stub

# What the reference is made from, and a copy of all that documents link to.
rm -rf $parts/pages $parts/drawings $parts/doxygen build/docs
mkdir -p $parts/pages $parts/drawings
doxygen docs/site/Doxyfile
cp -rp ./*.md LICENSE docs examples compat tests bench $parts/pages
cat README.md docs/site/contents.md >$parts/pages/index.md
$python docs/site/reference.py . $parts/pages/reference

$python docs/site/drawings.py $parts/drawings
diff -rq docs/drawings $parts/drawings || {
    echo "docs/drawings is not what docs/site/drawings.py draws: cp $parts/drawings/* docs/drawings" >&2
    exit 1
}

$python -m sphinx --quiet --fail-on-warning --jobs auto -c docs/site -d $parts/doctrees $parts/pages build/docs
rm build/docs/.buildinfo
$python tests/docs/reference.py . build/docs/objects.inv
$python tests/docs/links.py build/docs
$python tests/docs/browser.py build/docs build/docs-pictures
echo "build/docs/index.html"
