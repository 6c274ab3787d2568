"""Java sources are compiled once by the JDK against Pinot's jars, or rejected with the first error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jvm_bridge.jars import cache_folder
from tests.contract.java_sources_program import WITHOUT_COMPILER
from tests.support.wait import wait_for

pytestmark = pytest.mark.jvm

_GREETING = """package a.b;

import java.util.List;
import java.util.stream.Collectors;
import org.apache.pinot.spi.data.Schema;

/** Generics, a lambda, a nested class, and a call that the compiler warns of. */
public final class Greeting {
    private static final class Name {
        final String text = "ü";
    }

    public static String answer() {
        List raw = List.of(new Integer(1), 2);
        List<Integer> numbers = raw;
        Schema schema = new Schema();
        schema.setSchemaName(numbers.stream().map(n -> n + Greeter.MARK).collect(Collectors.joining()));
        return schema.getSchemaName() + new Name().text;
    }
}
"""
_GREETER = """package a.b;

interface Greeter {
    String MARK = "!";
}
"""
_ANSWER = "1!2!ü"


@dataclass(frozen=True)
class Place:
    """Sources, and their own cache.

    Attributes:
        folder: Folder with both.
    """

    folder: Path

    @property
    def sources(self) -> list[Path]:
        """The files."""
        return sorted((self.folder / "sources").glob("*.java"))

    @property
    def entries(self) -> list[Path]:
        """The content of the cache."""
        return sorted((self.folder / "cache" / "classes").glob("*"))

    def write(self, name: str, text: str) -> None:
        """Write a source."""
        (self.folder / "sources" / name).write_text(text, encoding="utf-8")

    def start(self, *options: str) -> subprocess.Popen[str]:
        """Start a process that loads them."""
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.contract.java_sources_program"],
            env={
                **os.environ,
                "PINOT_PLUGINS_CACHE": str(self.folder / "cache"),
                "TMPDIR": str(self.folder / "tmp"),
                "LC_ALL": "C",  # a source is read as UTF-8 nevertheless
            },
            text=True,
            encoding="utf-8",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        request = {"options": options, "package": "a.b", "main": "a.b.Greeting"}
        assert process.stdin is not None
        process.stdin.write(json.dumps({**request, "files": list(map(str, self.sources))}))
        process.stdin.close()
        process.stdin = None
        return process

    def load(self, *options: str) -> dict[str, Any]:
        """Load them in a process; return its result and its log."""
        return _end_of(self.start(*options))


def _end_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, log = process.communicate(timeout=600)
    assert process.returncode == 0, log
    found: dict[str, Any] = json.loads(output)  # nothing else was written to it
    assert "warning" not in log.lower(), log
    return {**found, "compiled": "compiled a.b" in log, "damaged": "is corrupt" in log}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in ("sources", "cache", "tmp"):
        (tmp_path / name).mkdir()
    for shared in ("repository", "sets"):  # the jars
        (tmp_path / "cache" / shared).symlink_to(cache_folder() / shared)
    made = Place(tmp_path)
    made.write("Greeting.java", _GREETING)
    made.write("Greeter.java", _GREETER)
    return made


def test_sources_are_compiled_once(place: Place) -> None:
    assert place.load() == {"answer": _ANSWER, "compiled": True, "damaged": False}
    (entry,) = place.entries
    # A Java runtime without a compiler is enough for cached classes.
    assert place.load(WITHOUT_COMPILER) == {"answer": _ANSWER, "compiled": False, "damaged": False}
    place.write("Greeter.java", _GREETER.replace("!", "?"))
    found = place.load(WITHOUT_COMPILER)
    assert found["error"] == "SetupError"
    assert "has no compiler" in found["message"]
    assert "Install a JDK and set JAVA_HOME to it." in found["message"]
    assert place.entries == [entry]
    assert place.load()["answer"] == _ANSWER.replace("!", "?")
    assert len(place.entries) == 2


def test_a_damaged_entry_is_compiled_again(place: Place) -> None:
    place.load()
    (entry,) = place.entries
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2])
    assert place.load() == {"answer": _ANSWER, "compiled": True, "damaged": True}
    assert entry.read_bytes() == whole


def test_a_source_that_does_not_fit_is_refused_by_the_first_error(place: Place) -> None:
    place.write("Greeting.java", _GREETING.replace("setSchemaName(", "setNameOfLaterVersions("))
    found = place.load()
    assert found["error"] == "CompileError"
    assert found["message"].startswith("Greeting.java:17: cannot find symbol, symbol:")
    assert "setNameOfLaterVersions" in found["message"]
    assert place.entries == []


def test_two_processes_at_once(place: Place) -> None:
    found = [_end_of(process) for process in [place.start(), place.start()]]
    assert [each["answer"] for each in found] == [_ANSWER, _ANSWER]
    assert len(place.entries) == 1
    assert place.load(WITHOUT_COMPILER)["answer"] == _ANSWER


def test_a_process_that_is_killed_while_it_compiles_leaves_nothing_that_is_taken(place: Place) -> None:
    methods = "\n".join(
        f"static String m{number}() {{ return {number} + MARK; }}" for number in range(20_000)
    )
    place.write("Greeter.java", _GREETER.replace('"!";', f'"!";\n{methods}'))
    process = place.start()
    temporary = place.folder / "tmp"
    try:
        wait_for(lambda: any(temporary.glob("pinot-javac-*/classes")), "the compiler", 300, interval_s=0.01)
    finally:
        process.kill()
        process.communicate()
    assert place.entries == []
    left = set(temporary.iterdir())
    assert left
    place.write("Greeter.java", _GREETER)
    assert place.load()["answer"] == _ANSWER
    assert not left & set(temporary.iterdir())
