#!/bin/bash
# python-interop.sh: the Python package against JAX, which is fetched from PyPI, and against torch and CuPy where the machine
# has them (UNIBUF_INTEROP_SITE: a folder of packages that they lie in).
set -euo pipefail
cd "$(dirname "$0")/.."

packages=build/interop
if ! [[ -d $packages/jax ]]; then
    build/venv/bin/python -m pip install --quiet --disable-pip-version-check --target "$packages" \
        --requirement tests/python/interop/requirements.txt
fi
PYTHONPATH=build/release/python:$packages${UNIBUF_INTEROP_SITE:+:$UNIBUF_INTEROP_SITE} PYTHONDONTWRITEBYTECODE=1 \
    build/venv/bin/python -m pytest -q tests/python/interop
