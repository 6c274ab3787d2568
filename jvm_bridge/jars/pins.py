"""Pins files: the jars of a class path, in order, with their sha256."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePosixPath

from controller_client.errors import SetupError

__all__ = ["Pin", "PinSet", "load_pins", "parse_pins"]

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PARTS_WITHOUT_CLASSIFIER, _PARTS_WITH_CLASSIFIER = 3, 4


@dataclass(frozen=True)
class Pin:
    """One jar: its Maven coordinate and its sha256."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def coordinate(self) -> str:
        """``group:artifact:version[:classifier]``."""
        return ":".join(filter(None, (self.group, self.artifact, self.version, self.classifier)))

    @property
    def path(self) -> PurePosixPath:
        """The jar's path in a Maven repository, relative."""
        suffix = f"-{self.classifier}" if self.classifier else ""
        name = f"{self.artifact}-{self.version}{suffix}.jar"
        return PurePosixPath(*self.group.split("."), self.artifact, self.version, name)


@dataclass(frozen=True)
class PinSet:
    """The jars of one class path, in its order.

    Attributes:
        name: Name of the set, e.g. ``pinot-0.11.0``.
        pins: The jars.
    """

    name: str
    pins: tuple[Pin, ...]

    @property
    def version(self) -> str:
        """The version at the end of the name."""
        return self.name.rpartition("-")[2]

    @property
    def fingerprint(self) -> str:
        """A digest that changes with any jar, version, sha256 or the order."""
        text = "\n".join(f"{pin.coordinate} {pin.sha256}" for pin in self.pins)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def parse_pins(name: str, text: str) -> PinSet:
    """Parse a pins file: lines ``group:artifact:version[:classifier] sha256``, ``#`` starts a comment line.

    Raises:
        SetupError: A line has another form, or a jar appears twice.
    """
    pins: list[Pin] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.startswith("#"):
            pins.append(_parse_line(name, number, line))
    coordinates = [pin.coordinate for pin in pins]
    twice = sorted({coordinate for coordinate in coordinates if coordinates.count(coordinate) > 1})
    if twice or not pins:
        raise SetupError(
            f"The pins file has duplicates: {', '.join(twice)}" if twice else "The pins file has no jars",
            expected="each jar once",
            where=f"pins {name}",
            remedy="generate the file again with scripts/make_pins.py",
        )
    return PinSet(name, tuple(pins))


def load_pins(name: str) -> PinSet:
    """Read a pins file of this package, e.g. ``pinot-0.11.0``.

    Raises:
        SetupError: There is no such file; the message lists the existing ones.
    """
    folder = files("jvm_bridge") / "pins"
    source = folder / f"{name}.txt"
    if not source.is_file():
        available = sorted(entry.name.removesuffix(".txt") for entry in folder.iterdir())
        raise SetupError(f"there are no pins for {name}", expected=f"one of {', '.join(available)}")
    return parse_pins(name, source.read_text(encoding="utf-8"))


def _parse_line(name: str, number: int, line: str) -> Pin:
    coordinate, _, digest = line.partition(" ")
    parts = coordinate.split(":")
    right_count = len(parts) in {_PARTS_WITHOUT_CLASSIFIER, _PARTS_WITH_CLASSIFIER}
    if not right_count or not all(parts) or not _SHA256.fullmatch(digest.strip()):
        raise SetupError(
            f"line {number} is not a pin: {line!r}",
            expected="group:artifact:version[:classifier] sha256",
            where=f"pins {name}",
            remedy="generate the file again with scripts/make_pins.py",
        )
    group, artifact, version, *classifier = parts
    return Pin(group, artifact, version, classifier[0] if classifier else "", digest.strip())
