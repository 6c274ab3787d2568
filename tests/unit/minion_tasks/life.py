"""A table's triggers in a world without Pinot, and their results."""

from __future__ import annotations

import pytest

from controller_client.errors import PinotPluginError
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.run.types import RunReport
from minion_tasks.file_ingestion.session.model import Session
from tests.unit.minion_tasks.happenings import SOURCE, STAGING, Happenings, rows_of
from tests.unit.minion_tasks.session_world import World

APPEND = {"consistentPushEnabled": "true", "consistentPushMaxRetries": "3"}


SYNC = {**APPEND, "enableSync": "true"}


SWAP = {"consistentPushSwapEnabled": "true", "consistentPushMaxRetries": "3"}


# Each file has one row and becomes one segment, so that files are independent of each other.
ALONE = {"desiredSegmentSize": "1", "maxNumRecordsPerSegment": "2"}


FIT_1 = ["F1", "F2", "F3", "F4", "F5"]


class Life:
    """A table's triggers and their results."""

    def __init__(self, world: World, configs: dict[str, str]) -> None:
        self.world = world
        self.configs = configs

    def write(self, *names: str) -> None:
        for name in names:
            # 1, 5, 9, ...: versions with one row.
            self.world.source[name] = next(self.world.versions) * 4 + 1

    def delete(self, name: str) -> int:
        return self.world.source.pop(name)

    def corrupt(self, *names: str) -> None:
        self.world.faults = dict.fromkeys(names, "row 7 is wrong")

    def trigger(self, happenings: Happenings | None = None, **changes: str) -> RunReport:
        return self.world.trigger(self.params(**changes), happenings or Happenings())

    def params(self, **changes: str) -> FileIngestionParams:
        configs = {"inputDirURI": SOURCE, "inputFormat": "csv", "outputDirURI": STAGING}
        if "enableSync" not in self.configs:
            configs |= ALONE
        return FileIngestionParams.from_configs({**configs, **self.configs, **changes})

    def fails(self, happenings: Happenings | None = None, **changes: str) -> PinotPluginError:
        with pytest.raises(PinotPluginError) as caught:
            self.trigger(happenings, **changes)
        return caught.value

    @property
    def read(self) -> list[str]:
        """The files that the last trigger read."""
        return sorted(name for name, _ in self.world.reads)

    @property
    def seen(self) -> dict[str, int]:
        """What queries see: files and their versions."""
        rows = [row for content in self.world.table.values() for row in content.rows]
        assert sorted(rows) == sorted({row[:2]: rows_of(*row[:2])[0] for row in rows}.values())
        return {name: version for name, version, _ in rows}

    @property
    def session(self) -> Session:
        session = self.world.sessions.latest()
        assert session is not None
        return session
