"""Distributions that a test installs in a folder on the path, as an operator installs plug-ins."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["install"]


def install(folder: Path, name: str, entry_points: Mapping[str, Mapping[str, str]]) -> None:
    """Install a distribution without modules of its own.

    Args:
        folder: Folder on the path of the processes that are to find it.
        name: The distribution's name.
        entry_points: Values by name, by group.
    """
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, points in entry_points.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
