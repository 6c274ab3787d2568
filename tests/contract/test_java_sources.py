"""Java sources are compiled once by the JDK against Pinot's jars, or rejected with the first error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from jvm_bridge.jars import cache_folder
from tests.contract.java_sources_program import WITHOUT_COMPILER
from tests.support.tiers import FULL
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
_ANSWER = {"answer": "1!2!ü"}


class Place:
    """Sources, and their own cache.

    Args:
        folder: An empty folder for both.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("cache", "tmp"):
            (folder / name).mkdir()
        for shared in ("repository", "sets"):  # the jars
            (folder / "cache" / shared).symlink_to(cache_folder() / shared)

    @property
    def temporary(self) -> Path:
        """The folder for temporary files."""
        return self._folder / "tmp"

    @property
    def entries(self) -> list[Path]:
        """The content of the cache."""
        return sorted((self._folder / "cache" / "classes").glob("*"))

    def sources(self, greeting: str = _GREETING, greeter: str = _GREETER) -> list[str]:
        """Write the sources of a package; return its files."""
        package = self._folder / f"sources-{len(list(self._folder.iterdir()))}"
        package.mkdir()
        texts = {"Greeter.java": greeter, "Greeting.java": greeting}
        for name, text in texts.items():
            (package / name).write_text(text, encoding="utf-8")
        return [str(package / name) for name in texts]

    def load(self, *packages: list[str], options: tuple[str, ...] = ()) -> tuple[list[Any], str]:
        """Load packages in a process; return its results and its log."""
        loads = [{"package": "a.b", "main": "a.b.Greeting", "files": files} for files in packages]
        process = self.start()
        output, log = process.communicate(json.dumps({"options": options, "loads": loads}), timeout=600)
        assert process.returncode == 0, log
        assert "warning" not in log.lower(), log
        results: list[Any] = json.loads(output)  # nothing else was written to it
        return results, log

    def start(self) -> subprocess.Popen[str]:
        """Start a process that loads what its input says."""
        return subprocess.Popen(
            [sys.executable, "-m", "tests.contract.java_sources_program"],
            env={
                **os.environ,
                "PINOT_PLUGINS_CACHE": str(self._folder / "cache"),
                "TMPDIR": str(self.temporary),
                "LC_ALL": "C",  # a source is read as UTF-8 nevertheless
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )


def test_sources_are_compiled_once_or_refused_by_the_first_error(tmp_path: Path) -> None:
    place = Place(tmp_path)
    unfit = place.sources(_GREETING.replace("setSchemaName(", "setNameOfLaterVersions("))
    (refused, loaded), log = place.load(unfit, place.sources())
    assert refused["error"] == "CompileError"
    assert refused["message"].startswith("Greeting.java:17: cannot find symbol, symbol:")
    assert "setNameOfLaterVersions" in refused["message"]
    assert loaded == _ANSWER
    assert "compiled a.b" in log
    (entry,) = place.entries
    # A Java runtime without a compiler is enough for cached classes.
    changed = place.sources(greeter=_GREETER.replace("!", "?"))
    (loaded, refused), log = place.load(place.sources(), changed, options=(WITHOUT_COMPILER,))
    assert loaded == _ANSWER
    assert "compiled a.b" not in log
    assert refused["error"] == "SetupError"
    assert "has no compiler" in refused["message"]
    assert "install a JDK and set JAVA_HOME to it" in refused["message"]
    assert place.entries == [entry]


@FULL
def test_damaged_entries_and_changed_sources_are_compiled_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.load(place.sources())
    (entry,) = place.entries
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2])
    (loaded,), log = place.load(place.sources())
    assert loaded == _ANSWER
    assert "compiled a.b" in log
    assert "is corrupt" in log
    assert entry.read_bytes() == whole
    (loaded,), log = place.load(place.sources(greeter=_GREETER.replace("!", "?")))
    assert loaded == {"answer": _ANSWER["answer"].replace("!", "?")}
    assert "is corrupt" not in log
    assert len(place.entries) == 2


@FULL
def test_two_processes_at_once(tmp_path: Path) -> None:
    place = Place(tmp_path)
    files = place.sources()
    with ThreadPoolExecutor() as pool:
        found = list(pool.map(place.load, [files, files]))
    assert [loaded for loaded, _ in found] == [[_ANSWER], [_ANSWER]]
    assert len(place.entries) == 1
    assert place.load(files, options=(WITHOUT_COMPILER,))[0] == [_ANSWER]


@FULL
def test_a_process_that_is_killed_while_it_compiles_leaves_nothing_that_is_taken(tmp_path: Path) -> None:
    place = Place(tmp_path)
    methods = "\n".join(
        f"static String m{number}() {{ return {number} + MARK; }}" for number in range(20_000)
    )
    files = place.sources(greeter=_GREETER.replace('"!";', f'"!";\n{methods}'))
    load = {"package": "a.b", "main": "a.b.Greeting", "files": files}
    process = place.start()
    try:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"options": (), "loads": [load]}))
        process.stdin.close()
        process.stdin = None
        compiling = "pinot-javac-*/classes"
        wait_for(lambda: any(place.temporary.glob(compiling)), "the compiler", 300, interval_s=0.01)
    finally:
        process.kill()
        process.communicate()
    assert place.entries == []
    left = set(place.temporary.iterdir())
    assert left
    assert place.load(place.sources())[0] == [_ANSWER]
    assert not left & set(place.temporary.iterdir())
