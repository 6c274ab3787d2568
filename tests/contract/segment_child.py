"""The parent's end of :mod:`tests.contract.child`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.ipc


class SegmentChild:
    """Builds segments in a child process; ``build`` replies are dicts, an error has the key ``error``."""

    def __init__(self, work_dir: Path) -> None:
        self.work_dir = work_dir
        self._log = (work_dir / "child.log").open("wb")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.contract.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=300)
        self._process.stdout.close()
        self._log.close()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            log = (self.work_dir / "child.log").read_text(errors="replace")
            raise AssertionError(f"the child ended; its log ends with:\n{log[-3000:]}")
        reply: dict[str, Any] = json.loads(line)
        return reply

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
        request = {
            "action": "build",
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
        """Build many files; the reply has ``segments`` like those of ``build``; ``failures``, ``mismatches``.

        The segments are named ``part_<number>``; their custom metadata has the indexes of the files that are
        in, as ``files``: ``0-1-3``, or what ``in_files`` says.
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
