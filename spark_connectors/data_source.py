"""``format("pinot")``: the entry point of Spark's Python data source API.

For each plan, Spark creates a :class:`PinotDataSource` in a separate Python process, so it stores nothing but
the options. Each method imports what it needs: one process only needs the name, and none both reads and
writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
)
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from spark_connectors.options import ReadOptions, WriteOptions

__all__ = ["PinotDataSource"]


class PinotDataSource(DataSource):
    """Pinot tables as DataFrames; the package ``pyspark_pinot`` registers it with Spark."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "pinot"

    def schema(self) -> StructType:
        """Return the schema of a read without ``.schema(...)``; runs in a planning process."""
        from spark_connectors.read.batch_reader import inferred_schema

        return inferred_schema(self._read_options())

    def reader(self, schema: StructType) -> DataSourceReader:
        """Check options, table and requested schema; runs in a planning process."""
        from spark_connectors.read.batch_reader import make_reader

        return make_reader(self._read_options(), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Check options, table and columns before the job starts; runs in a planning process."""
        from spark_connectors.write.batch_writer import PinotBatchWriter
        from spark_connectors.write.plan import WritePlan

        return PinotBatchWriter(WritePlan.make(self._write_options(), schema, overwrite=overwrite))

    def streamWriter(  # noqa: N802 - Spark's name
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamArrowWriter:
        """Check options, table and columns; runs in planning processes, for each epoch and for its commit."""
        from spark_connectors.write.stream_writer import PinotStreamWriter, stream_plan

        checkpoint = self.options.get("checkpointlocation")
        plan = stream_plan(self._write_options(), schema, overwrite=overwrite, checkpoint=checkpoint)
        return PinotStreamWriter(plan)

    def _read_options(self) -> ReadOptions:
        from spark_connectors.options import ReadOptions, parse_options

        return parse_options(ReadOptions, self.options)

    def _write_options(self) -> WriteOptions:
        from spark_connectors.options import WriteOptions, parse_options

        return parse_options(WriteOptions, self.options)
