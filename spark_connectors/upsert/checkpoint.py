"""Reads from Spark's checkpoint of a query which input offsets each batch covers.

The checkpoint is read through Spark's own file systems, so it may be anywhere that Spark can write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from controller_client.common.parsing import whole_number
from controller_client.errors import SourceError
from spark_connectors.faults import in_short

__all__ = ["Checkpoint"]

_OFFSETS_LINE = 2
"""In a batch's file, after the format version and the batch's settings: one line per source, here one."""


class Checkpoint:
    """A query's checkpoint; used by the driver.

    Args:
        spark: The Spark session.
        uri: Location of the checkpoint.
    """

    def __init__(self, spark: SparkSession, uri: str) -> None:
        self.uri = uri
        jvm: Any = spark._jvm  # noqa: SLF001  # the only access to Spark's file systems
        context: Any = spark.sparkContext._jsc  # noqa: SLF001
        try:
            self._path = jvm.org.apache.hadoop.fs.Path
            self._files = self._path(uri).getFileSystem(context.hadoopConfiguration())
        except Py4JError as error:
            raise SourceError(
                f"Spark cannot access the location of the checkpoint: {in_short(error)}", where=uri
            ) from error

    def newest_batch(self) -> int | None:
        """Return the newest batch that was started; None before the first."""
        folder = self._path(f"{self.uri}/offsets")
        if not self._files.exists(folder):
            return None
        batches = (whole_number(str(each.getPath().getName())) for each in self._files.listStatus(folder))
        return max((batch for batch in batches if batch is not None), default=None)

    def is_committed(self, batch: int) -> bool:
        """Return whether a batch is done, so that it will not run again."""
        return bool(self._files.exists(self._path(f"{self.uri}/commits/{batch}")))

    def ends(self, batch: int) -> Mapping[int, int]:
        """Return the offset after the last one of a batch, by partition."""
        return _offsets(self._read(f"offsets/{batch}").splitlines()[_OFFSETS_LINE])

    def begins(self, batch: int) -> Mapping[int, int]:
        """Return the first offset of a batch, by partition, without partitions that are new in the batch."""
        if batch > 0:
            return self.ends(batch - 1)
        # Spark's Kafka source records the start of the query after a zero byte and the format version.
        return _offsets(self._read("sources/0/0").splitlines()[1])

    def remove(self) -> None:
        """Delete the checkpoint, including the state."""
        self._files.delete(self._path(self.uri), True)  # recursive

    def _read(self, name: str) -> str:
        stream = self._files.open(self._path(f"{self.uri}/{name}"))
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()


def _offsets(line: str) -> dict[int, int]:
    (by_partition,) = json.loads(line).values()
    return {int(partition): offset for partition, offset in by_partition.items()}
