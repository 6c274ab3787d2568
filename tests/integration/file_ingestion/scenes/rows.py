"""In which modes and on which engines the scenes are played."""

from __future__ import annotations

from dataclasses import dataclass

from tests.integration.file_ingestion.scenes.scene import APPEND, APPEND_SHARED, SWAP, SYNC

__all__ = ["MODES", "EngineAndMode", "chosen_rows"]

MODES = {
    "append, a file a subtask": APPEND,
    "append, files share segments": APPEND_SHARED,
    "sync": SYNC,
    "swap": SWAP,
}
_SPARK_ALWAYS = ("append, a file a subtask",)


@dataclass(frozen=True)
class EngineAndMode:
    """A row of the table."""

    engine: str
    mode: str

    @property
    def id(self) -> str:
        return f"{self.engine}: {self.mode}"


def chosen_rows(*, full: bool) -> list[EngineAndMode]:
    """All rows, or those that are always tested: with Spark, a part."""
    return [
        EngineAndMode(engine, mode)
        for engine in ("minion", "spark")
        for mode in MODES
        if full or engine == "minion" or mode in _SPARK_ALWAYS
    ]
