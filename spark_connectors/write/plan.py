"""What one write is, as driver, tasks and commit share it: it is pickled into each of them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pyspark.sql.types import StructType

from controller_client.client import ControllerClient
from controller_client.common.names import TableName, TableType
from controller_client.errors import ConfigError, NotFoundError
from controller_client.filestore import FileStore, open_store
from controller_client.models import Schema, TableConfig
from controller_client.publishing.lineage_size import check_lineage_size
from controller_client.publishing.named_writes import names_prefix, was_committed, write_digest
from controller_client.publishing.staged_segment import STAGING_FOLDER
from spark_connectors.options import WriteOptions
from spark_connectors.types import ColumnCast, plan_casts
from spark_connectors.write.new_table import create_table
from spark_connectors.write.partitioning import Partitioning
from spark_connectors.write.scope import Scope, scope_of, segments_to_replace
from spark_connectors.zookeeper import open_zookeeper

__all__ = ["WRITE_ID_KEY", "WritePlan"]

WRITE_ID_KEY = "pinotPlugins.writeId"
"""Key in a segment's custom metadata: the write that made it, as a digest."""


@dataclass(frozen=True)
class WritePlan:
    """One write of one DataFrame.

    Attributes:
        frame: The DataFrame's schema.
        overwrite: Whether something is replaced.
        config_document: The table's config as the controller gives it, without tasks: these hold
            credentials.
        schema_document: As the controller gives it.
        write_id: The user's, or one of this write alone.
        nonce: Of this attempt at the write: segments of an attempt that was reverted have used their names
            up.
        staging_uri: The folder where this attempt's segments wait.
        committed_before: A write of the user's id was committed: nothing is to do.
    """

    options: WriteOptions
    frame: StructType
    overwrite: bool
    config_document: Mapping[str, Any] = field(repr=False)
    schema_document: Mapping[str, Any] = field(repr=False)
    write_id: str
    nonce: str
    staging_uri: str
    committed_before: bool = False

    @classmethod
    def make(
        cls, options: WriteOptions, frame: StructType, *, overwrite: bool, staging_key: str | None = None
    ) -> WritePlan:
        """Look at the table and check everything that can be checked before the job starts.

        Args:
            options: Of the write.
            frame: The DataFrame's schema.
            overwrite: Whether something is replaced.
            staging_key: Names the staging folder; default: a new name.

        Raises:
            ConfigError: The DataFrame does not fit the table, or the table is not one to write to.
            ConflictError: A segment lies across the border of what is to be overwritten.
            LineageFullError: The table's lineage has no room for what is to be replaced.
            NotFoundError: There is no such table.
        """
        _check_report_path(options)
        with options.client() as client:
            config, schema = _table(client, options, frame)
            nonce = secrets.token_hex(4)
            staging = f"{_staging_root(options, client)}/{config.name_with_type}"
            plan = cls(
                options=options,
                frame=frame,
                overwrite=overwrite,
                config_document={key: part for key, part in config.to_json().items() if key != "task"},
                schema_document=schema.to_json(),
                write_id=options.write_id or f"spark-{secrets.token_hex(8)}",
                nonce=nonce,
                staging_uri=f"{staging}/{staging_key or nonce}",
            )
            plan.casts()
            plan.staging_store  # noqa: B018 - a store that cannot be opened is reported now
            if options.write_id is not None and was_committed(client, plan.table, plan.names_prefix):
                return replace(plan, committed_before=True)
            scope = plan.scope()
            if overwrite:
                with open_zookeeper(options, client) as store:
                    replaced = segments_to_replace(client, store, plan.table, scope)
                    # With one new segment at least; all of them are counted before the first is pushed.
                    check_lineage_size(store, plan.table, replaced, [plan.segment_name(0, 0)])
        return plan

    def __getstate__(self) -> dict[str, Any]:
        """Give tasks only the fields: what this process has opened or read stays here."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def table_config(self) -> TableConfig:
        """The table's config."""
        return TableConfig.from_json(self.config_document)

    @cached_property
    def schema(self) -> Schema:
        """The table's schema."""
        return Schema.from_json(self.schema_document)

    @property
    def table(self) -> TableName:
        """Table name with type."""
        return self.table_config.name_with_type

    @property
    def write_digest(self) -> str:
        """The write's id as it stands in segment names and metadata."""
        return write_digest(self.write_id)

    @property
    def names_prefix(self) -> str:
        """How the names of all segments of this write begin, whatever the attempt."""
        return names_prefix(self.table_config.raw_name, self.write_id)

    def segment_name(self, partition: int, number: int) -> str:
        """Name a segment by the Spark partition and its number among that partition's."""
        return f"{self.names_prefix}{self.nonce}_{partition:05d}_{number:03d}"

    def nonce_of(self, segment_name: str) -> str | None:
        """Return the nonce in a segment's name; None for one that no write has made."""
        begin = re.escape(f"{self.table_config.raw_name}_spark_")
        match = re.fullmatch(rf"{begin}[0-9a-f]{{16}}_([0-9a-f]{{8}})_\d+_\d+", segment_name)
        return match[1] if match else None

    @property
    def staging_root(self) -> str:
        """The folder of all writes of the table, which holds one for each attempt."""
        return self.staging_uri.rpartition("/")[0]

    def staging_uri_of(self, nonce: str) -> str:
        """Return the staging folder of another attempt at this or another write of the table."""
        return f"{self.staging_root}/{nonce}"

    def custom_metadata(self) -> dict[str, str]:
        """What each segment records of itself."""
        return {WRITE_ID_KEY: self.write_digest}

    def casts(self) -> tuple[ColumnCast, ...]:
        """How the columns get into the table."""
        ingestion = self.config_document.get("ingestionConfig") or {}
        return plan_casts(
            self.frame,
            self.schema,
            required=self.table_config.time_column,
            free_columns=bool(ingestion.get("transformConfigs") or ingestion.get("filterConfig")),
        )

    def scope(self) -> Scope | None:
        """What is overwritten; None for the whole table, and for an append."""
        if not self.overwrite:
            return None
        return scope_of(self.options, self.table_config, self.schema, self.frame.fieldNames())

    def partitioning(self) -> Partitioning | None:
        """How rows are split; None when they are not."""
        found = Partitioning.of(self.table_config, self.schema)
        return found if found is not None and found.column in self.frame.fieldNames() else None

    @cached_property
    def staging_store(self) -> FileStore:
        """The store of the staging folder, opened at the first use in each process."""
        return open_store(self.staging_uri, self.options.resolved_fs_properties(), key="stagingUri")


def _table(client: ControllerClient, options: WriteOptions, frame: StructType) -> tuple[TableConfig, Schema]:
    table = TableName.parse(options.table) or TableName.of(options.table, TableType.OFFLINE)
    if table.type is TableType.REALTIME:
        raise ConfigError(
            f"{options.table} is a REALTIME table: it gets rows only from its stream",
            expected="the name of an OFFLINE table, or of a hybrid one without the type",
        )
    realtime = table.as_type(TableType.REALTIME)
    try:
        config = client.tables.get(table)
    except NotFoundError as error:
        if client.tables.exists(realtime):
            raise ConfigError(
                f"there is only {realtime}, which gets rows only from its stream",
                expected=f"an OFFLINE table {table} beside it",
                remedy="make the OFFLINE table first",
            ) from error
        logical = client.tables.logical_error(table.raw)
        if logical is not None:
            raise logical from error
        if not options.create_table:
            error.remedy = "make the table, or set 'createTable'"
            raise
        config = create_table(client, table, frame, options)
    return config, client.schemas.of_table(config)


def _check_report_path(options: WriteOptions) -> None:
    if options.report_path is not None and not Path(options.report_path).absolute().parent.is_dir():
        raise ConfigError(
            f"'reportPath' is in a folder that does not exist: {options.report_path}",
            expected="a path in a folder of the driver's machine",
        )


def _staging_root(options: WriteOptions, client: ControllerClient) -> str:
    place = options.staging_uri or client.cluster.deep_store_uri()
    if place is None:
        raise ConfigError(
            "there is no folder to stage segments in: 'stagingUri' is not set, and the controller does not "
            "report its data directory",
            remedy="set 'stagingUri' to a folder that executors, driver and controller can reach",
        )
    # Beside the folders that FileIngestionTask sweeps, which are tables' names with type.
    return f"{place.rstrip('/')}/{STAGING_FOLDER}/spark-writes"
