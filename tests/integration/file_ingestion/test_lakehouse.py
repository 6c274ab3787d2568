"""Tables that follow an Iceberg or a Delta table, on a cluster: queries see whole versions, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from controller_client.zookeeper import PropertyStore, segment_path
from tests.integration.file_ingestion.ingestion import IngestionTable, Pinotctl, ended
from tests.integration.file_ingestion.scenes.scene import SPARK
from tests.support.cluster import PinotCluster
from tests.support.tiers import FULL

pytestmark = pytest.mark.cluster

SCHEMA = pa.schema([("id", pa.int32()), ("word", pa.string()), ("amount", pa.float64())])


def rows(ids: Sequence[int], word: str = "w") -> pa.Table:
    return pa.table([list(ids), [word] * len(ids), [1.5] * len(ids)], schema=SCHEMA)


class Lakehouse(Protocol):
    """A table that its owner changes."""

    @property
    def task(self) -> tuple[str, str, Mapping[str, str]]: ...

    def append(self, added: pa.Table) -> None: ...
    def overwrite(self, whole: pa.Table) -> None: ...
    def delete(self, condition: str) -> None: ...
    def version(self) -> str: ...


class Iceberg:
    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._uri, self._warehouse = f"sqlite:///{folder}/catalog.db", f"file://{folder}/warehouse"
        catalog = SqlCatalog("lake", uri=self._uri, warehouse=self._warehouse)
        catalog.create_namespace("shop")
        self._table = catalog.create_table("shop.orders", SCHEMA)

    @property
    def task(self) -> tuple[str, str, Mapping[str, str]]:
        properties = {"type": "sql", "uri": self._uri, "warehouse": self._warehouse}
        given = {f"input.fs.prop.{key}": value for key, value in properties.items()}
        return "iceberg://lake/shop.orders", "iceberg", given

    def append(self, added: pa.Table) -> None:
        self._table.append(added)

    def overwrite(self, whole: pa.Table) -> None:
        self._table.overwrite(whole)

    def delete(self, condition: str) -> None:
        self._table.delete(condition)

    def version(self) -> str:
        snapshot = self._table.current_snapshot()
        return str(snapshot.snapshot_id) if snapshot else ""


class Delta:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def task(self) -> tuple[str, str, Mapping[str, str]]:
        return f"file://{self._folder}", "delta", {}

    def append(self, added: pa.Table) -> None:
        write_deltalake(self._folder, added, mode="append")

    def overwrite(self, whole: pa.Table) -> None:
        write_deltalake(self._folder, whole, mode="overwrite")

    def delete(self, condition: str) -> None:
        DeltaTable(self._folder).delete(condition)

    def version(self) -> str:
        return str(DeltaTable(self._folder).version())


def _custom_maps(table: IngestionTable, pinot: PinotCluster) -> list[Mapping[str, Any]]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as store:
        paths = [segment_path(table.with_type, name) for name in table.client.segments.list(table.with_type)]
        records = [store.get(path) for path in paths]
    return [versioned.record.map_fields["custom.map"] for versioned in records if versioned is not None]


@pytest.mark.parametrize("kind", [Iceberg, Delta])
def test_a_table_follows(
    kind: type[Lakehouse],
    ingestion_table: IngestionTable,
    pinotctl: Pinotctl,
    pinot: PinotCluster,
    shared_folder: Path,
    tmp_path: Path,
) -> None:
    lakehouse = kind(shared_folder / "lake")  # type: ignore[call-arg]
    lakehouse.append(rows(range(50)))
    uri, file_format, given = lakehouse.task
    staging = f"file://{tmp_path / 'staging'}"
    table = ingestion_table.create().register(
        uri, file_format, enableSync="true", outputDirURI=staging, **given
    )
    planned = pinotctl.json("plan", table.name)
    first = lakehouse.version()
    assert (planned["source_version"], planned["version_rows"]) == (first, 50)
    assert (planned["source"]["files"], planned["files_to_read"]) == (1, 1)
    report = table.run().report
    assert (report["outcome"], report["rows"], report["source_version"]) == ("switched", 50, first)
    table.wait_count(50)
    assert table.run().report["outcome"] == "nothing_new"

    with table.polled() as reader:
        lakehouse.append(rows(range(50, 80)))
        assert table.run().report["files"] == 1
        table.wait_count(80)
        # Three commits at once are one switch; the version between them is never seen.
        lakehouse.delete("id < 10")
        lakehouse.append(rows([1000]))
        lakehouse.delete("id = 1000")
        report = table.run().report
        assert (report["files"], report["rows"], report["replaced_segments"]) == (1, 40, 1)
        table.wait_count(70)
        lakehouse.overwrite(rows(range(5), word="new"))
        assert table.run().report["replaced_segments"] == 2
        table.wait_count(5)
        reader.poll_until(reader.polls + 2)
    seen = [int(answer[0]) for answer in reader.seen if answer]
    assert seen == [50, 80, 70, 5]
    assert (reader.partials, reader.errors) == ([], [])
    assert table.value("select count(*) from {t} where word = 'new'") == 5

    last = lakehouse.version()
    assert {each["pinotPlugins.sourceVersion"] for each in _custom_maps(table, pinot)} == {last}
    shown = pinotctl.json("session", "show", table.name)
    assert (shown["source"], shown["source_version"]) == (uri, last)

    # An earlier version can be pinned, and is a difference like any other.
    table.register(
        uri, file_format, enableSync="true", outputDirURI=staging, sourceVersion=f"id:{first}", **given
    )
    assert table.run().report["source_version"] == first
    table.wait_count(50)


@FULL
@pytest.mark.parametrize("kind", [Iceberg, Delta])
def test_spark_reads_the_same_units(
    kind: type[Lakehouse], ingestion_table: IngestionTable, shared_folder: Path, tmp_path: Path
) -> None:
    lakehouse = kind(shared_folder / "lake")  # type: ignore[call-arg]
    lakehouse.append(rows(range(50)))
    lakehouse.append(rows(range(50, 80)))
    uri, file_format, given = lakehouse.task
    staging = f"file://{tmp_path / 'staging'}"
    table = ingestion_table.create().register(
        uri, file_format, engine="spark", enableSync="true", outputDirURI=staging, **given
    )
    assert ended(table.start(*SPARK)).report["rows"] == 80
    table.wait_count(80)
    lakehouse.delete("id >= 10")
    report = ended(table.start(*SPARK)).report
    assert (report["rows"], report["replaced_segments"]) == (10, 2)
    table.wait_count(10)
