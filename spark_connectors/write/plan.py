"""The plan of one write, shared by driver, tasks and commit by pickling."""

from __future__ import annotations

import logging
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
from controller_client.publishing.checks.rules import Checks
from controller_client.publishing.lineage_size import check_lineage_size
from controller_client.publishing.named_writes import names_prefix, was_committed, write_digest
from controller_client.publishing.staged_segment import STAGING_FOLDER
from controller_client.publishing.targets import check_target
from spark_connectors.options import WriteOptions
from spark_connectors.types import ColumnCast, plan_casts
from spark_connectors.write.missing import check_missing, expected_columns
from spark_connectors.write.new_table import create_table
from spark_connectors.write.partitioning import Partitioning
from spark_connectors.write.scope import Scope, scope_of, segments_to_replace
from spark_connectors.zookeeper import open_zookeeper

__all__ = ["WRITE_ID_KEY", "WritePlan"]

logger = logging.getLogger(__name__)

WRITE_ID_KEY = "pinotPlugins.writeId"
"""Key in a segment's custom metadata: a digest of the id of the write that created it."""


@dataclass(frozen=True)
class WritePlan:
    """One write of one DataFrame.

    Attributes:
        frame: The DataFrame's schema.
        overwrite: Whether segments are replaced.
        config_document: The table's config as returned by the controller, without tasks, which may contain
            credentials.
        schema_document: The table's schema as returned by the controller.
        write_id: The user's id, or a unique one.
        nonce: Identifies this attempt at the write, since names of reverted segments cannot be used again.
        staging_uri: The folder in which this attempt stages its segments.
        committed_before: Whether a write with the user's id was already committed, so nothing is left to do.
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
        """Check the table and everything else that can be checked before the job starts.

        Args:
            options: The options of the write.
            frame: The DataFrame's schema.
            overwrite: Whether segments are replaced.
            staging_key: Name of the staging folder; default: a new name.

        Raises:
            ConfigError: The DataFrame does not fit the table, or the table cannot be written to.
            ConflictError: A segment is only partly inside the scope of the overwrite.
            LineageFullError: The table's lineage has no room for the replacement.
            NotFoundError: There is no such table.
        """
        _check_report_path(options)
        with options.client() as client:
            config, schema = _table(client, options, frame)
            check_target(config, schema, client.cluster.capabilities)
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
            missing = plan.missing_columns()
            if missing:
                logger.warning("%s: the DataFrame lacks %s: null in its rows", plan.table, ", ".join(missing))
            plan.checks()
            plan.staging_store  # noqa: B018 - reports a store that cannot be opened now
            scope = plan.scope()
            if options.write_id is None and not overwrite:
                return plan
            view = client.lineage.view(plan.table)
            if options.write_id is not None and was_committed(view, plan.names_prefix):
                return replace(plan, committed_before=True)
            if overwrite:
                with open_zookeeper(options, client) as store:
                    replaced = segments_to_replace(view, store, plan.table, scope)
                    # Assumes one new segment; the check is repeated with all of them before the first push.
                    check_lineage_size(store, plan.table, replaced, [plan.segment_name(0, 0)])
        return plan

    def __getstate__(self) -> dict[str, Any]:
        """Pickle only the fields, not what this process has opened or read."""
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
        """The write's id as used in segment names and metadata."""
        return write_digest(self.write_id)

    @property
    def names_prefix(self) -> str:
        """The prefix of all segment names of this write, whatever the attempt."""
        return names_prefix(self.table_config.raw_name, self.write_id)

    def segment_name(self, partition: int, number: int) -> str:
        """Return the name of a segment, given its Spark partition and its number within that partition."""
        return f"{self.names_prefix}{self.nonce}_{partition:05d}_{number:03d}"

    def nonce_of(self, segment_name: str) -> str | None:
        """Return the nonce in a segment's name; None if no write created the segment."""
        begin = re.escape(f"{self.table_config.raw_name}_spark_")
        match = re.fullmatch(rf"{begin}[0-9a-f]{{16}}_([0-9a-f]{{8}})_\d+_\d+", segment_name)
        return match[1] if match else None

    @property
    def staging_root(self) -> str:
        """The folder of all writes of the table, with a subfolder for each attempt."""
        return self.staging_uri.rpartition("/")[0]

    def staging_uri_of(self, nonce: str) -> str:
        """Return the staging folder of another attempt at this or another write of the table."""
        return f"{self.staging_root}/{nonce}"

    def custom_metadata(self) -> dict[str, str]:
        """The custom metadata of each segment."""
        return {WRITE_ID_KEY: self.write_digest}

    def casts(self) -> tuple[ColumnCast, ...]:
        """Return the conversions of the columns."""
        time_column = self.table_config.time_column
        ingestion = self.config_document.get("ingestionConfig") or {}
        return plan_casts(
            self.frame,
            self.schema,
            required=time_column if time_column in self._expected_columns else None,
            free_columns=bool(ingestion.get("transformConfigs") or ingestion.get("filterConfig")),
        )

    def checks(self) -> Checks:
        """Return the checks of what is staged; columns that the DataFrame may lack may become empty."""
        checks = self.options.checks(self.schema)
        return replace(checks, may_become_empty=checks.may_become_empty.union(self.missing_columns()))

    def missing_columns(self) -> tuple[str, ...]:
        """Return the columns that are null in all rows of the DataFrame.

        Raises:
            ConfigError: There are more than ``maxMissingColumns`` allows.
        """
        return check_missing(self._expected_columns, self.frame.fieldNames(), self.options.max_missing)

    @cached_property
    def _expected_columns(self) -> frozenset[str]:
        return expected_columns(self.config_document, self.schema)

    def scope(self) -> Scope | None:
        """Return the scope of the overwrite; None for the whole table, and for an append."""
        if not self.overwrite:
            return None
        return scope_of(self.options, self.table_config, self.schema, self.frame.fieldNames())

    def partitioning(self) -> Partitioning | None:
        """Return how rows are split into partitions; None if they are not."""
        found = Partitioning.of(self.table_config, self.schema)
        return found if found is not None and found.column in self.frame.fieldNames() else None

    @cached_property
    def staging_store(self) -> FileStore:
        """The store of the staging folder, opened on first use in each process."""
        return open_store(self.staging_uri, self.options.resolved_fs_properties(), key="stagingUri")


def _table(client: ControllerClient, options: WriteOptions, frame: StructType) -> tuple[TableConfig, Schema]:
    table = TableName.parse(options.table) or TableName.of(options.table, TableType.OFFLINE)
    if table.type is TableType.REALTIME:
        raise ConfigError(
            f"{options.table} is a REALTIME table, which gets rows only from its stream",
            expected="the name of an OFFLINE table, or of a hybrid table without the type",
        )
    realtime = table.as_type(TableType.REALTIME)
    try:
        config = client.tables.in_use(table)
    except NotFoundError as error:
        if client.tables.exists(realtime):
            raise ConfigError(
                f"table {table.raw} has only a REALTIME part, which gets rows only from its stream",
                expected=f"an OFFLINE table {table}",
                remedy="create the OFFLINE table first",
            ) from error
        logical = client.tables.logical_error(table.raw)
        if logical is not None:
            raise logical from error
        if not options.create_table:
            error.remedy = "create the table, or set 'createTable'"
            raise
        config = create_table(client, table, frame, options)
    return config, client.schemas.of_table(config)


def _check_report_path(options: WriteOptions) -> None:
    if options.report_path is not None and not Path(options.report_path).absolute().parent.is_dir():
        raise ConfigError(
            f"the folder of 'reportPath' does not exist: {options.report_path}",
            expected="a path in an existing folder on the driver's machine",
        )


def _staging_root(options: WriteOptions, client: ControllerClient) -> str:
    place = options.staging_uri or client.cluster.deep_store_uri()
    if place is None:
        raise ConfigError(
            "no folder to stage segments in: 'stagingUri' is not set, and the controller does not "
            "report its data directory",
            remedy="set 'stagingUri' to a folder that executors, driver and controller can reach",
        )
    # Next to the folders that FileIngestionTask cleans, which are named after the ids of clusters.
    return f"{place.rstrip('/')}/{STAGING_FOLDER}/spark-writes"
