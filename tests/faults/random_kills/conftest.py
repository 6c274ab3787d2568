from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from controller_client.zookeeper import PropertyStore
from tests.faults.file_ingestion.runs import Runners
from tests.faults.file_ingestion.watched import WatchedTable
from tests.faults.random_kills.plan import draw_kills
from tests.integration.file_ingestion.ingestion import IngestionTable
from tests.support.cluster import PinotCluster
from tests.support.missing_tool import without
from tests.support.s3_program import S3UnavailableError
from tests.support.scheduling import PART
from tests.support.session import own_session


@dataclass(frozen=True)
class FolderSource:
    """A local folder."""

    folder: Path

    @property
    def configs(self) -> Mapping[str, str]:
        return {"inputDirURI": f"file://{self.folder}"}

    def put(self, name: str, content: str) -> None:
        written = self.folder.with_name(f"{self.folder.name}-{name}")
        written.write_text(content, encoding="utf-8")
        written.rename(self.folder / name)

    def delete(self, name: str) -> None:
        (self.folder / name).unlink()


@dataclass
class Arena:
    """A dedicated cluster, since all its roles are killed, with a table for each mode."""

    pinot: PinotCluster
    runners: Runners
    table_of: Callable[[str], WatchedTable]


ArenaOf = Callable[[str], Arena]


@pytest.fixture(scope="package")
def arena_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArenaOf]:
    """The arena with a given deep store; one exists at a time."""
    now: dict[str, Arena] = {}
    with ExitStack() as last:

        def arena_of(store: str) -> Arena:
            if store not in now:
                last.close()
                now.clear()
                now[store] = last.enter_context(_arena(store, tmp_path_factory.mktemp(store)))
            return now[store]

        yield arena_of


@contextmanager
def _arena(store: str, folder: Path) -> Iterator[Arena]:
    with ExitStack() as begun:
        session = begun.enter_context(own_session(s3_deep_store=store == "s3"))
        patch = begun.enter_context(pytest.MonkeyPatch.context())
        if store == "s3":
            try:
                session.s3  # noqa: B018 - this starts it
            except S3UnavailableError as error:
                without(str(error))
            for name, value in session.s3_environment().items():
                patch.setenv(name, value)
        pinot = session.pinot
        runs = folder / "runs"
        runs.mkdir()
        runners = Runners(pinot, pinot.controller_url, runs)
        begun.callback(runners.close)
        client = begun.enter_context(pinot.client())
        broker = begun.enter_context(pinot.broker())
        properties = begun.enter_context(PropertyStore(pinot.zookeeper_address, pinot.cluster_name))
        tables: dict[str, WatchedTable] = {}

        def table_of(mode: str) -> WatchedTable:
            """The table of a mode, created for its first test and after a failed one."""
            found = tables.get(mode)
            if found is None or not found.is_sound:
                source = FolderSource(folder / f"source-{uuid.uuid4().hex[:8]}")
                source.folder.mkdir()
                table = IngestionTable(f"t_{uuid.uuid4().hex[:12]}", client, broker, pinot.controller_url)
                found = tables[mode] = WatchedTable(mode, table, pinot, properties, source)
                found.make_ready(runners)
            return found

        yield Arena(pinot, runners, table_of)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kill" in metafunc.fixturenames:
        count = int(os.environ.get("PINOT_TEST_KILLS", "40"))
        kills = draw_kills(metafunc.config.option.seed or 0, count)
        metafunc.parametrize(
            "kill", [pytest.param(kill, id=str(kill), marks=PART(kill.store)) for kill in kills]
        )
