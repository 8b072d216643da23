#!/bin/bash
# python-environment.sh FOLDER REQUIREMENTS: a virtual environment with these packages, from PyPI, of PYTHON (python3). Made anew
# where they changed.
set -euo pipefail

folder=$1 requirements=$2
if cmp -s "$requirements" "$folder/requirements.txt"; then exit 0; fi
if [[ -L $folder ]]; then
    echo "$folder is a link to an environment with other packages than $requirements names: remove the link" >&2
    exit 1
fi
"${PYTHON:-python3}" -m venv --clear "$folder"
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
cp "$requirements" "$folder/requirements.txt"
