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
    """A Java package and those that it uses, which compile without other code of this project.

    Attributes:
        package: Name of the Java package.
        files: The ``.java`` files of all packages.
    """

    package: str
    files: tuple[Path, ...]

    @classmethod
    def of(cls, python_package: str, package: str, *used: str) -> Self:
        """Return a package below the folder ``java`` of a Python package.

        Args:
            python_package: The Python package, e.g. ``server_hooks``.
            package: The Java package, e.g. ``io.pinotplugins.v0_11.pause``.
            used: Java packages that it uses, of the same Python package.
        """
        root = Path(str(files(python_package))) / "java"
        folders = [root.joinpath(*name.split(".")) for name in (package, *used)]
        return cls(package, tuple(file for folder in folders for file in sorted(folder.glob("*.java"))))

    def digest(self, class_path: Iterable[Path]) -> str:
        """Return a digest that changes whenever the compiled classes may change.

        It uses the name, size and time of a jar: reading 600 MB of jars at each start would take longer than
        compiling.

        Args:
            class_path: The jars to compile against.

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
