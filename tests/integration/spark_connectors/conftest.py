"""One Spark session for all tests, a process that reads and writes without Spark, and tables."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from controller_client.broker.client import BrokerClient
from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.config import ControllerConfig
from controller_client.errors import PinotPluginError, SourceError
from controller_client.filestore import open_store
from controller_client.models import Schema, TableConfig
from tests.support.cluster import PinotCluster
from tests.support.deleting import drop
from tests.support.offline_tables import offline_table
from tests.support.program import Program
from tests.support.spark import LOCAL_SPARK
from tests.support.wait import WaitError, wait_for

MakeTable = Callable[..., "SparkTable"]

IDS_ALONE = {"dimensionFieldSpecs": [{"name": "id", "dataType": "LONG"}]}
"""Schema of a table with one column."""
ID_COLUMN = StructType().add("id", "long")


def with_ids(ids: Iterable[int]) -> list[dict[str, int]]:
    """Return rows of such a table."""
    return [{"id": each} for each in ids]


@pytest.fixture(scope="session")
def spark(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two cores and one retry of a task; its Python workers inherit the access to the deep store."""
    builder = SparkSession.builder
    own = {
        "spark.master": "local[2,2]",
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("spark-warehouse")),
    }
    for key, value in {**LOCAL_SPARK, **own}.items():
        builder = builder.config(key, value)
    with pytest.MonkeyPatch.context() as patch:
        # Spark would start the python3 of the path, which may lack this project.
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
        try:
            yield session
        finally:
            session.stop()


class ConnectorError(PinotPluginError):
    """A read or write was refused or has failed."""


class Connector(Program):
    """The process of :mod:`.connector_program`: a read or write takes a tenth of what it takes with Spark."""

    def read(
        self, options: Mapping[str, str], schema: StructType | None = None, /, **more: str
    ) -> list[dict[str, Any]]:
        """Read all rows."""
        return self._run(schema, {**options, **more})

    def write(
        self,
        options: Mapping[str, str],
        mode: str,
        schema: StructType,
        /,
        *tasks: Sequence[Mapping[str, Any]],
        **more: str,
    ) -> None:
        """Write the rows of some tasks."""
        self._run(schema, {**options, **more}, mode=mode, tasks=tasks)

    def _run(
        self, schema: StructType | None, options: Mapping[str, str], **order: Any
    ) -> list[dict[str, Any]]:
        document = schema.jsonValue() if schema is not None else None
        answer = self.ask({"options": options, "schema": document, **order})
        if "error" in answer:
            raise ConnectorError(answer["error"])
        rows: list[dict[str, Any]] = answer["rows"]
        return rows


@pytest.fixture(scope="session")
def connector(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connector]:
    """It inherits the access to the deep store."""
    log = tmp_path_factory.mktemp("connector") / "log"
    made = Connector("tests.integration.spark_connectors.connector_program", log=log)
    yield made
    made.close()


@pytest.fixture
def client(pinot: PinotCluster) -> Iterator[ControllerClient]:
    with ControllerClient(ControllerConfig(pinot.controller_url)) as made:
        yield made


@dataclass(frozen=True)
class SparkTable:
    """The table of one test."""

    name: str
    pinot: PinotCluster
    client: ControllerClient
    broker: BrokerClient

    @property
    def typed(self) -> TableName:
        """The table's name with type."""
        return TableName(f"{self.name}_OFFLINE")

    @property
    def options(self) -> dict[str, str]:
        """The options of each read and write."""
        return {"controller": self.pinot.controller_url, "table": self.name}

    def write(self, frame: DataFrame, mode: str, **options: str) -> None:
        """Write a DataFrame."""
        frame.write.format("pinot").mode(mode).options(**{**self.options, **options}).save()

    def query(self, select: str, rest: str = "") -> list[tuple[Any, ...]]:
        """Query the broker."""
        return list(self.broker.query(f'select {select} from "{self.name}" {rest}').rows)

    def wait_rows(self, select: str, expected: Sequence[Any]) -> None:
        """Wait until a query returns this row."""
        seen: list[Any] = []

        def fits() -> bool:
            seen[:] = self.query(select)  # an error, before the table has segments, means "not yet"
            return bool(seen) and list(seen[0]) == list(expected)

        try:
            wait_for(fits, f"{select} from {self.name} to be {expected}")
        except WaitError as error:
            error.add_note(f"the last answer: {seen}")
            raise

    def staged(self) -> list[str]:
        """Files of its writes in the staging folder."""
        uri = f"{self.pinot.deep_store_uri}/pinot-plugins-staging/spark-writes/{self.typed}"
        try:
            return [file.uri for file in open_store(uri, {}).list(uri)]
        except SourceError:
            return []  # the folder does not exist

    def segments(self) -> list[str]:
        """The segments that queries see."""
        return list(self.client.segments.list(self.typed, exclude_replaced=True))


@pytest.fixture
def make_table(pinot: PinotCluster, client: ControllerClient) -> Iterator[MakeTable]:
    """Creates tables: ``make_table(schema fields..., config parts...)``."""
    made: list[str] = []
    with BrokerClient([pinot.broker_url]) as broker:

        def make(schema: Mapping[str, Any], *, time_column: str | None = None, **config: Any) -> SparkTable:
            name = f"sp_{uuid.uuid4().hex[:12]}"
            client.schemas.create(Schema.from_json({"schemaName": name, **schema}))
            indexing = {"nullHandlingEnabled": True}
            document = {**offline_table(name, time_column=time_column, indexing=indexing), **config}
            client.tables.create(TableConfig.from_json(document))
            made.append(name)
            return SparkTable(name, pinot, client, broker)

        try:
            yield make
        finally:
            for name in made:
                drop(client, name)
