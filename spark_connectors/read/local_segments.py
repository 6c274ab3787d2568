"""Reads unpacked segments in this process' JVM with Pinot's own segment-level query operators.

Servers use the same operators, so predicates and values are the same. Pinot encodes the results as
DataTables, which are passed from Java as one byte array for each 10,000 rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller_client.errors import PartialResultError, QueryError, SetupError
from jvm_bridge.builder.pinot_classes import fill_registries, has_method, java_class, parse_schema
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes
from jvm_bridge.jvm import running_jars
from spark_connectors.read.data_table import DataTable, decode
from spark_connectors.read.segment_files import SegmentFolder

__all__ = ["LoadedSegment"]

_QUERY_CONTEXT = "org.apache.pinot.core.query.request.context"
_SEGMENT_CONTEXT = "org.apache.pinot.segment.spi.SegmentContext"
_PLAN = "makeStreamingSegmentPlanNode"


class LoadedSegment:
    """A loaded segment; a context manager that releases its files.

    Args:
        folder: The segment.
        schema: The table's schema; columns newer than the segment have their default values.

    Raises:
        PartialResultError: The cluster has replaced the segment.
        SetupError: This Pinot cannot load it.
    """

    def __init__(self, folder: SegmentFolder, schema: Mapping[str, Any]) -> None:
        fill_registries()
        java_folder = java_class("java.io.File")(str(folder.path))
        metadata = java_class("org.apache.pinot.segment.spi.index.metadata.SegmentMetadataImpl")(java_folder)
        if folder.crc is not None and str(metadata.getCrc()) != str(folder.crc):
            raise PartialResultError(
                f"segment {folder.path.name} was replaced while it was fetched",
                expected=f"crc {folder.crc}, found {metadata.getCrc()}",
                remedy="read the table again",
            )
        self.rows = int(metadata.getTotalDocs())
        self._schema = parse_schema(schema)
        try:
            self._segment = _load(java_folder, metadata, self._schema) if self.rows else None
        except JAVA_ERRORS as error:
            jars = running_jars()
            raise SetupError(
                f"{jars.origin if jars else 'this Pinot'} cannot load segment {folder.path.name}:"
                f" {root_causes(error)}",
                expected="a segment written by this version of Pinot or an older one",
                remedy="set PINOT_HOME to a Pinot distribution of the cluster's version on all machines that"
                " run tasks, or set 'readFrom' to servers",
            ) from error

    def __enter__(self) -> LoadedSegment:
        return self

    def __exit__(self, *_: object) -> None:
        if self._segment is not None:
            self._segment.destroy()

    def select(self, sql: str) -> Iterator[DataTable]:
        """Run a SELECT without aggregation, block by block.

        Raises:
            QueryError: Pinot rejects the query.
        """
        if self._segment is None:
            return
        try:
            operator = self._operator(sql)
            while (block := operator.nextBlock()) is not None:
                yield decode(memoryview(block.getDataTable().toBytes()).tobytes())
        except JAVA_ERRORS as error:
            raise QueryError(root_causes(error), remedy="check 'filter' and 'columns'") from error

    def _operator(self, sql: str) -> Any:
        compiler = java_class("org.apache.pinot.sql.parsers.CalciteSqlParser")
        converter = java_class(f"{_QUERY_CONTEXT}.utils.QueryContextConverterUtils")
        context = converter.getQueryContext(compiler.compileToPinotQuery(sql))
        if _takes_schema():
            context.setSchema(self._schema)
        planner_class = java_class("org.apache.pinot.core.plan.maker.InstancePlanMakerImplV2")
        segment = self._segment
        if has_method(planner_class, _PLAN, _SEGMENT_CONTEXT):  # since 1.2
            segment = java_class(_SEGMENT_CONTEXT)(segment)
        return planner_class().makeStreamingSegmentPlanNode(segment, context).run()


def _takes_schema() -> bool:
    """Return whether queries return default values for columns that a segment lacks (since 1.4)."""
    return has_method(java_class(f"{_QUERY_CONTEXT}.QueryContext"), "setSchema")


def _load(folder: Any, metadata: Any, schema: Any) -> Any:
    loader = java_class("org.apache.pinot.segment.local.indexsegment.immutable.ImmutableSegmentLoader")
    mmap = java_class("org.apache.pinot.spi.utils.ReadMode").mmap
    columns = schema.getPhysicalColumnNames()
    if _takes_schema() or metadata.getColumnMetadataMap().keySet().containsAll(columns):
        return loader.load(folder, mmap)
    config = java_class("org.apache.pinot.segment.local.segment.index.loader.IndexLoadingConfig")()
    config.setReadMode(mmap)
    return loader.load(folder, config, schema)
