"""metadata.py PYPROJECT FOLDER VERSION: what Python's tools read of an installed package, by pyproject.toml."""

import pathlib
import sys
import tomllib

project = tomllib.loads(pathlib.Path(sys.argv[1]).read_text())["project"]
folder = pathlib.Path(sys.argv[2])
folder.mkdir(parents=True)
lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {sys.argv[3]}"]
lines += [f"Summary: {project['description']}", f"Requires-Python: {project['requires-python']}"]
lines += [f"Requires-Dist: {each}" for each in project["dependencies"]]
(folder / "METADATA").write_text("\n".join(lines) + "\n")
(folder / "INSTALLER").write_text("debian\n")
groups = project.get("entry-points", {})
sections = [f"[{group}]\n" + "".join(f"{name} = {at}\n" for name, at in of.items()) for group, of in groups.items()]
(folder / "entry_points.txt").write_text("\n".join(sections))
