"""The modes and engines with which the scenes are tested.

Without a cluster, ``tests/unit/minion_tasks/test_scenes.py`` plays them in all modes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.integration.file_ingestion.scenes.scene import APPEND, APPEND_SHARED, SWAP, SYNC

__all__ = ["MODES", "SCENES", "EngineAndMode", "chosen_rows"]

MODES = {
    "append, one file per subtask": APPEND,
    "append, files share segments": APPEND_SHARED,
    "sync": SYNC,
    "swap": SWAP,
}
SCENES = range(1, 7)

_ALWAYS = {
    ("minion", "append, one file per subtask"): SCENES,
    ("minion", "append, files share segments"): (5,),
    ("minion", "sync"): (4,),
    ("minion", "swap"): (4,),
}


@dataclass(frozen=True)
class EngineAndMode:
    """A combination to be tested."""

    engine: str
    mode: str

    @property
    def id(self) -> str:
        return f"{self.engine}: {self.mode}"


def chosen_rows(scene: int, *, full: bool) -> list[EngineAndMode]:
    """Return all rows of a scene, or those always tested: every scene once, and every mode with a scene."""
    return [
        EngineAndMode(engine, mode)
        for engine in ("minion", "spark")
        for mode in MODES
        if full or scene in _ALWAYS.get((engine, mode), ())
    ]
