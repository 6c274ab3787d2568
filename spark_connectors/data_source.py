"""``format("pinot")``: what Spark's Python data source API asks for.

Spark makes an instance of :class:`PinotDataSource` in a Python process of its own for each plan: nothing is
kept in it but the options.
"""

from __future__ import annotations

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
)
from pyspark.sql.types import StructType

from spark_connectors.options import ReadOptions, WriteOptions, parse_options
from spark_connectors.read.batch_reader import inferred_schema, make_reader
from spark_connectors.write.batch_writer import PinotBatchWriter
from spark_connectors.write.plan import WritePlan
from spark_connectors.write.stream_writer import PinotStreamWriter, stream_plan

__all__ = ["PinotDataSource"]


class PinotDataSource(DataSource):
    """Pinot tables as DataFrames; the package ``pyspark_pinot`` makes it known to Spark."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "pinot"

    def schema(self) -> StructType:
        """Return the schema that a read without ``.schema(...)`` has; runs in a planning process."""
        return inferred_schema(parse_options(ReadOptions, self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Check options, table and the schema that was asked for; runs in a planning process."""
        return make_reader(parse_options(ReadOptions, self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Check options, table and columns before the job starts; runs in a planning process."""
        options = parse_options(WriteOptions, self.options)
        return PinotBatchWriter(WritePlan.make(options, schema, overwrite=overwrite))

    def streamWriter(  # noqa: N802 - Spark's name
        self, schema: StructType, overwrite: bool
    ) -> DataSourceStreamArrowWriter:
        """Check options, table and columns; runs in planning processes, for each epoch and for its commit."""
        options = parse_options(WriteOptions, self.options)
        checkpoint = self.options.get("checkpointlocation")
        return PinotStreamWriter(stream_plan(options, schema, overwrite=overwrite, checkpoint=checkpoint))
