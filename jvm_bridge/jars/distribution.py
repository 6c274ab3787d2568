"""The jars of the Pinot distribution in PINOT_HOME, of any version."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

from controller_client.errors import SetupError

__all__ = ["distribution_class_path", "distribution_version"]

# Jars whose names have Pinot's version; the jar with all classes comes first.
_VERSIONED = re.compile(
    r"pinot-(all|spi|common|core|tools)-(\d+\.\d+[\w.-]*?)(?:-jar-with-dependencies|-shaded)?\.jar"
)
_IMPLEMENTATION_VERSION = re.compile(r"^Implementation-Version:\s*(\d\S*)", re.MULTILINE)


def distribution_class_path(home: Path) -> tuple[Path, ...]:
    """Return lib/*.jar, Pinot's own first, then plugins/**/*.jar.

    Raises:
        SetupError: `home` is not a Pinot distribution.
    """
    libraries = sorted(
        (home / "lib").glob("*.jar"), key=lambda jar: (not jar.name.startswith("pinot-"), jar.name)
    )
    if not any(jar.name.startswith("pinot-") for jar in libraries):
        raise SetupError(
            "PINOT_HOME is not a Pinot distribution: there is no lib/pinot-*.jar",
            expected="the folder unpacked from apache-pinot-<version>-bin.tar.gz",
            where=str(home),
            remedy="correct PINOT_HOME, or unset it to fetch the pinned jars",
        )
    return (*libraries, *sorted((home / "plugins").rglob("*.jar")))


def distribution_version(home: Path, class_path: tuple[Path, ...]) -> str:
    """Return Pinot's version from a jar's name, else from its manifest.

    Raises:
        SetupError: Neither has it.
    """
    named = [match for jar in class_path if (match := _VERSIONED.fullmatch(jar.name))]
    if named:
        return min(named, key=lambda match: match[1] != "all")[2]
    for jar in class_path:
        if jar.parent.name == "lib" and jar.name.startswith("pinot-") and (version := _manifest_version(jar)):
            return version
    raise SetupError(
        "no jar of this distribution shows Pinot's version",
        expected="lib/pinot-all-<version>-jar-with-dependencies.jar, or Implementation-Version in a manifest",
        where=str(home),
    )


def _manifest_version(jar: Path) -> str | None:
    try:
        with zipfile.ZipFile(jar) as archive:
            manifest = archive.read("META-INF/MANIFEST.MF").decode("utf-8", errors="replace")
    except (KeyError, zipfile.BadZipFile) as error:
        raise SetupError(f"a jar of PINOT_HOME cannot be read: {error}", where=str(jar)) from error
    match = _IMPLEMENTATION_VERSION.search(manifest)
    return match[1] if match else None
