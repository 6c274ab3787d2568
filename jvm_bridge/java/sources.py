"""Java sources that are compiled together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Self

__all__ = ["JavaSources"]


@dataclass(frozen=True)
class JavaSources:
    """A Java package and those that it uses, which nothing else of this project is needed to compile.

    Attributes:
        package: Its name in Java.
        files: The ``.java`` files of all.
    """

    package: str
    files: tuple[Path, ...]

    @classmethod
    def of(cls, room: str, package: str, *used: str) -> Self:
        """Return a package below the folder ``java`` of a Python package.

        Args:
            room: The Python package, e.g. ``server_hooks``.
            package: The Java package, e.g. ``io.pinotplugins.v0_11.pause``.
            used: Those that it uses, of the same Python package.
        """
        root = Path(str(files(room))) / "java"
        folders = [root.joinpath(*name.split(".")) for name in (package, *used)]
        return cls(package, tuple(file for folder in folders for file in sorted(folder.glob("*.java"))))

    def digest(self, class_path: Iterable[Path]) -> str:
        """Return what changes whenever the compiled classes may be others.

        A jar is known by its name, size and time: to read 600 MB of them at each start would cost more than
        to compile.

        Args:
            class_path: The jars that they are compiled against.

        Raises:
            OSError: A source or a jar cannot be read.
        """
        found = hashlib.sha256(self.package.encode())
        for file in self.files:
            content = file.read_bytes()
            found.update(f"\n{file.name} {len(content)}\n".encode() + content)
        for jar in class_path:
            status = jar.stat()
            found.update(f"\n{jar.name} {status.st_size} {status.st_mtime_ns}".encode())
        return found.hexdigest()
