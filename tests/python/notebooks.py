"""The notebooks of examples/notebooks: runs them, and tells what their cells show.

As a program it stores what they show in them: after a change of a cell, or of what the package prints.
"""

import base64
import os
import tempfile
from io import BytesIO
from pathlib import Path
from unittest import mock

import nbformat
from matplotlib.image import imread
from nbclient import NotebookClient
from traitlets.config import Config

PATHS = sorted((Path(__file__).parents[2] / "examples/notebooks").glob("*.ipynb"))
COMMAND = "PYTHONPATH=build/release/python build/venv/bin/python tests/python/notebooks.py"
METADATA = {  # nothing of the machine on which a notebook was run
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
FOLDERS = (
    "IPYTHONDIR",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
    "MPLCONFIGDIR",
    "XDG_CACHE_HOME",
)


def load(path):
    return nbformat.read(path, as_version=4)


def run(notebook, scratch, **environment):
    """A copy of the notebook with what its cells show. Raises where a cell does. Caches and the like are written below
    the folder `scratch`."""
    places = {name: str(Path(scratch, name.lower())) for name in FOLDERS}
    result = nbformat.from_dict(notebook)
    client = NotebookClient(
        result,
        kernel_name="python3",  # ipykernel's own, by the interpreter of this process
        timeout=120,
        record_timing=False,
        coalesce_streams=True,
        config=Config(KernelManager={"transport_encryption": "auto"}),  # without, it warns
    )
    with mock.patch.dict(os.environ, places | environment):
        os.environ.pop("MPLBACKEND", None)  # one that shows pictures in notebooks is ipykernel's default
        client.execute()
    result.metadata = nbformat.from_dict(METADATA)
    return result


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell):
    """What a cell shows but for pictures: pairs of kind and text."""
    found = []
    for output in cell.outputs:
        if output.output_type == "stream":
            found.append((output.name, output.text))
        else:
            found += sorted((kind, text) for kind, text in output.data.items() if kind.startswith("text/"))
    return found


def pictures(cell):
    """The PNG files that a cell shows."""
    shown = (output.get("data", {}) for output in cell.outputs)
    return [base64.b64decode(data["image/png"]) for data in shown if "image/png" in data]


def pixels(picture):
    """A PNG file as an array of numbers from 0 to 1."""
    return imread(BytesIO(picture), format="png")


def main():
    for path in PATHS:
        with tempfile.TemporaryDirectory() as scratch:
            nbformat.write(run(load(path), scratch), path)
        print(f"{path.name} is stored")


if __name__ == "__main__":
    main()
