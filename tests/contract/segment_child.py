"""The parent's end of :mod:`tests.contract.child`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
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
        self._process.wait(timeout=30)
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
        suffixes = [suffix for suffix in source.suffixes if suffix != ".gz"]
        return self.ask({**request, "path": str(source), "format": file_format or suffixes[-1][1:]})
