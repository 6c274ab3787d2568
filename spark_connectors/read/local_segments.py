"""Unpacked segments read in this process' JVM by Pinot's own segment-level query operators.

The operators are those that servers use, so predicates and values are the same; what they give is encoded by
Pinot as a DataTable, which crosses from Java as one array of bytes for each 10,000 rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jpype

from controller_client.errors import PartialResultError, QueryError
from jvm_bridge.builder.pinot_classes import fill_registries, java_class, parse_schema, root_causes
from spark_connectors.read.data_table import DataTable, decode
from spark_connectors.read.segment_files import SegmentFolder

__all__ = ["LocalSegment"]


class LocalSegment:
    """A segment that is loaded; a context manager that lets go of its files.

    Args:
        folder: The segment.
        schema: The table's: columns that came after the segment have their default values.

    Raises:
        PartialResultError: The segment is not the one that the cluster has now.
    """

    def __init__(self, folder: SegmentFolder, schema: Mapping[str, Any]) -> None:
        fill_registries()
        java_folder = java_class("java.io.File")(str(folder.path))
        metadata = java_class("org.apache.pinot.segment.spi.index.metadata.SegmentMetadataImpl")(java_folder)
        if folder.crc is not None and str(metadata.getCrc()) != str(folder.crc):
            raise PartialResultError(
                f"the segment {folder.path.name} was replaced while it was fetched",
                expected=f"crc {folder.crc}, found {metadata.getCrc()}",
                remedy="read the table again",
            )
        self.rows = int(metadata.getTotalDocs())
        self._segment = _load(java_folder, metadata, parse_schema(schema)) if self.rows else None

    def __enter__(self) -> LocalSegment:
        return self

    def __exit__(self, *_: object) -> None:
        if self._segment is not None:
            self._segment.destroy()

    def select(self, sql: str) -> Iterator[DataTable]:
        """Run a SELECT without aggregation, block by block.

        Raises:
            QueryError: Pinot finds it wrong.
        """
        if self._segment is None:
            return
        try:
            operator = self._operator(sql)
            while (block := operator.nextBlock()) is not None:
                yield decode(memoryview(block.getDataTable().toBytes()).tobytes())
        except jpype.JException as error:
            raise QueryError(root_causes(error), remedy="check 'filter' and 'columns'") from error

    def _operator(self, sql: str) -> Any:
        compiler = java_class("org.apache.pinot.sql.parsers.CalciteSqlParser")
        converter = java_class("org.apache.pinot.core.query.request.context.utils.QueryContextConverterUtils")
        planner = java_class("org.apache.pinot.core.plan.maker.InstancePlanMakerImplV2")()
        context = converter.getQueryContext(compiler.compileToPinotQuery(sql))
        return planner.makeStreamingSegmentPlanNode(self._segment, context).run()


def _load(folder: Any, metadata: Any, schema: Any) -> Any:
    loader = java_class("org.apache.pinot.segment.local.indexsegment.immutable.ImmutableSegmentLoader")
    mmap = java_class("org.apache.pinot.spi.utils.ReadMode").mmap
    if metadata.getColumnMetadataMap().keySet().containsAll(schema.getPhysicalColumnNames()):
        return loader.load(folder, mmap)
    config = java_class("org.apache.pinot.segment.local.segment.index.loader.IndexLoadingConfig")()
    config.setReadMode(mmap)
    return loader.load(folder, config, schema)
