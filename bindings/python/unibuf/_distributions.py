"""Whose the folder is that `import unibuf` finds: another distribution than this one has that name, too."""

from __future__ import annotations

import os  # pathlib would take as long as a third of the package

OURS = "unibuf-python"


def others_in(folder: str | os.PathLike[str]) -> list[str]:
    """The name and version of each distribution but this one that has installed files into the folder."""
    from importlib.metadata import distributions  # takes as long as the rest of the package

    parent, name = os.path.split(os.path.normpath(folder))
    found = set()
    for each in distributions(path=[parent]):
        if each.name.replace("_", "-") != OURS and any(file.parts[0] == name for file in each.files or ()):
            found.add(f"{each.name} {each.version}")
    return sorted(found)


def refusal(folder: str | os.PathLike[str]) -> str:
    """What is wrong with the folder, and the cure."""
    others = " and ".join(others_in(folder)) or "no distribution that is known"
    return (
        f"import unibuf found another package of that name: {folder} has files of {others}, and not of {OURS} alone. "
        f"Uninstall both, `pip uninstall unibuf {OURS}`, and install this one again, from its sources or from a file: "
        "on an index `unibuf` is somebody else's"
    )
