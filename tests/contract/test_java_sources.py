"""Java sources are compiled once by the JDK against Pinot's jars, or rejected with the first error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jvm_bridge.jars import cache_folder
from tests.contract.java_sources_program import WITHOUT_COMPILER

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
        done = subprocess.run(
            [sys.executable, "-m", "tests.contract.java_sources_program"],
            env={
                **os.environ,
                "PINOT_PLUGINS_CACHE": str(self._folder / "cache"),
                "TMPDIR": str(self._folder / "tmp"),
                "LC_ALL": "C",  # a source is read as UTF-8 nevertheless
            },
            input=json.dumps({"options": options, "loads": loads}),
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr.lower(), done.stderr
        results: list[Any] = json.loads(done.stdout)  # nothing else was written to it
        return results, done.stderr


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
    assert "Install a JDK and set JAVA_HOME to it." in refused["message"]
    assert place.entries == [entry]
