"""The parent's end of :mod:`tests.contract.child`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import pyarrow as pa
import pyarrow.ipc

T = TypeVar("T")


class SegmentChild:
    """Builds segments in a child process; ``build`` replies are dicts, an error has the key ``error``.

    A request that ends the child fails; the next request starts another child.

    Args:
        work_dir: An existing folder.
        variables: Environment variables of the child in addition to those of this process.
    """

    def __init__(self, work_dir: Path, variables: Mapping[str, str] | None = None) -> None:
        self.work_dir = work_dir
        self._variables = variables or {}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._end()

    @cached_property
    def features(self) -> Mapping[str, Any]:
        """The features of the child's Pinot."""
        return self.ask({"action": "features"})

    @property
    def reads_files(self) -> bool:
        """Whether its Pinot has readers of its own for files."""
        return bool(self.features["reads_files"])

    def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the child; its arguments and its result are JSON documents."""
        names = {"module": function.__module__, "function": function.__name__}
        reply = self.ask({"action": "call", **names, "arguments": arguments})
        assert "error" not in reply, reply
        result: T = reply["result"]
        return result

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if self._process is None:
            self._process = self._started()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = b""
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            self._end()
            log = (self.work_dir / "child.log").read_text(errors="replace")
            raise AssertionError(f"the child ended; its log ends with:\n{log[-3000:]}")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _started(self) -> subprocess.Popen[bytes]:
        with (self.work_dir / "child.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.contract.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **self._variables},
            )

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.communicate(timeout=300)

    def build(
        self,
        table_config: Mapping[str, Any],
        schema: Mapping[str, Any],
        source: Path | pa.Table,
        reader: str,
        *,
        file_format: str | None = None,
        name: str = "segment",
        **more: Any,
    ) -> dict[str, Any]:
        """Build one segment.

        Args:
            table_config: The table's config.
            schema: Its schema.
            source: A file, or rows.
            reader: A reader of `SegmentBuilder`, or ``rows``: Pinot's driver gets the rows one by one, or
                ``alone``: Pinot's own reader and conversions.
            file_format: Format of a file whose name does not show it.
            name: Name of the segment.
            more: Further keys of the request.
        """
        request = {
            "action": {"rows": "build_by_rows", "alone": "build_alone"}.get(reader, "build"),
            "table_config": table_config,
            "schema": schema,
            "reader": reader,
            "name": name,
            "work_dir": str(self.work_dir),
            **more,
        }
        if isinstance(source, pa.Table):
            path = self.work_dir / "table.arrow"
            with pa.ipc.new_file(path, source.schema) as writer:
                writer.write_table(source)
            return self.ask({**request, "arrow": str(path)})
        return self.ask({**request, "path": str(source), "format": file_format or _format(source)})

    def build_files(
        self,
        table_config: Mapping[str, Any],
        schema: Mapping[str, Any],
        paths: Sequence[Path],
        reader: str,
        max_rows: int = 1_000_000,
        *,
        file_format: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Build many files; the reply has ``segments`` as in ``build``, ``failures`` and ``mismatches``.

        The segments are named ``part_<number>``; their custom metadata has the indexes of their files as
        ``files``: ``0-1-3``, or what ``in_files`` returns.
        """
        request = {
            "action": "build_files",
            "table_config": table_config,
            "schema": schema,
            "paths": [str(path) for path in paths],
            "format": file_format or _format(paths[0]),
            "reader": reader,
            "name": "part_{}",
            "max_rows": max_rows,
            "work_dir": str(self.work_dir),
            **more,
        }
        reply = self.ask(request)
        if "failures" in reply:
            for key in ("failures", "mismatches"):
                reply[key] = {int(index): each for index, each in reply[key].items()}
        return reply


def _format(path: Path) -> str:
    return [suffix for suffix in path.suffixes if suffix != ".gz"][-1][1:]
