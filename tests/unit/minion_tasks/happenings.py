"""What happens to the files and subtasks of a world without Pinot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller_client.filestore import FileInfo
from minion_tasks.file_ingestion.plan.provenance import Provenance

SOURCE, STAGING = "file:///in", "file:///out"


Row = tuple[str, int, int]


class ProcessDiedError(BaseException):
    """The process died; no handler of the code under test may catch this."""


def info(name: str, version: int) -> FileInfo:
    return FileInfo(f"{SOURCE}/{name}", 10 + 20 * (version % 3), version)


def name_of(uri: str) -> str:
    return uri.rpartition("/")[2]


def rows_of(name: str, version: int) -> list[Row]:
    """Return the rows of a version of a file: none, one, two or three."""
    return [(name, version, row) for row in range(version % 4)]


@dataclass(frozen=True)
class Content:
    """A segment: its recorded provenance and its rows."""

    custom: Mapping[str, str]
    rows: tuple[Row, ...]

    def files(self, name: str) -> tuple[FileInfo, ...] | None:
        provenance = Provenance.from_custom_map(self.custom, segment=name)
        return provenance.inputs if provenance is not None else None


@dataclass
class Happenings:
    """What goes wrong in one trigger.

    Attributes:
        run_dies_at: The run is killed before write, subtask or push number N.
        run_dies_waiting: The run is killed after its subtasks were submitted, before any of them starts.
        subtasks: The fates of the subtasks, in order: ``ok``; ``lost`` (never runs); ``twice`` (Helix
            assigned it to two minions); a number: its minion dies before that write or file.
        leftovers_at: Subtasks that an earlier run left continue before that step of the run.
        rewritten: Files that are rewritten while they are read.
    """

    run_dies_at: int | None = None
    run_dies_waiting: bool = False
    subtasks: list[str | int] = field(default_factory=list)
    leftovers_at: int | None = None
    rewritten: set[str] = field(default_factory=set)
    lock_lost: bool = False
    quota_exceeded: bool = False
    failed_checks: tuple[str, ...] = ()
    no_minion: bool = False

    @property
    def is_smooth(self) -> bool:
        """Whether the run and each subtask run once and to their end."""
        return (
            self.run_dies_at is None
            and not self.run_dies_waiting
            and self.leftovers_at is None
            and all(each == "ok" for each in self.subtasks)
            and not (self.lock_lost or self.quota_exceeded or self.failed_checks or self.no_minion)
        )


@dataclass(frozen=True)
class Subtask:
    session_id: str
    attempt: int
    groups: tuple[int, ...]
