"""A table's ``segmentPartitionConfig``: which partition a value belongs to, by Pinot's own function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from controller_client.errors import ConfigError
from controller_client.models import Schema, TableConfig
from spark_connectors.types import stored_numbers

__all__ = ["PartitionIds", "Partitioning"]

# Pinot's functions take the text of a value; of these types it is the same here as in Java.
_TYPES = ("INT", "LONG", "STRING", "BOOLEAN", "TIMESTAMP")
_DEFAULT_MAX_LENGTH = 512
_LARGEST_CACHE = 1_000_000


@dataclass(frozen=True)
class Partitioning:
    """How a table is partitioned.

    Attributes:
        column: Single-value column.
        data_type: Its type.
        max_length: Characters of a text that Pinot keeps.
        function: Pinot's name of the function, e.g. ``Murmur``.
        count: How many partitions there are.
        function_config: Further arguments of the function.
    """

    column: str
    data_type: str
    max_length: int
    function: str
    count: int
    function_config: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, config: TableConfig, schema: Schema) -> Partitioning | None:
        """Read it out of a table's config.

        Returns:
            None for a table without partitions, one with several partition columns (brokers make no use of
            these) or with a column of a type whose rows are not split.
        """
        columns: Mapping[str, Mapping[str, Any]] = (
            config.table_index_config.get("segmentPartitionConfig") or {}
        ).get("columnPartitionMap") or {}
        if len(columns) != 1:
            return None
        ((column, document),) = columns.items()
        field = schema.field(column)
        if field is None or not field.single_value or field.data_type not in _TYPES:
            return None
        spec = next((each for each in schema.dimension_field_specs if each.name == column), None)
        extra = (spec.model_extra if spec is not None else None) or {}
        return cls(
            column,
            field.data_type,
            int(extra.get("maxLength", _DEFAULT_MAX_LENGTH)),
            str(document["functionName"]),
            int(document["numPartitions"]),
            tuple(sorted((document.get("functionConfig") or {}).items())),
        )


class PartitionIds:
    """Partitions of values; needs the JVM of this process.

    Args:
        partitioning: Of the table.
        schema: The table's, as the controller gives it: a null belongs where its default value does.

    Raises:
        ConfigError: Pinot does not take the function or its config.
    """

    def __init__(self, partitioning: Partitioning, schema: Mapping[str, Any]) -> None:
        import jpype

        from jvm_bridge.builder.pinot_classes import java_class, parse_schema, root_causes

        self._partitioning = partitioning
        config = java_class("java.util.HashMap")()
        for key, value in partitioning.function_config:
            config.put(key, value)
        factory = java_class("org.apache.pinot.segment.spi.partition.PartitionFunctionFactory")
        try:
            self._function = factory.getPartitionFunction(partitioning.function, partitioning.count, config)
        except jpype.JException as error:
            raise ConfigError(
                f"Pinot does not partition {partitioning.column} by {partitioning.function}: "
                + root_causes(error)
            ) from error
        field = parse_schema(schema).getFieldSpecFor(partitioning.column)
        self._of_null = self._partition(str(field.getDefaultNullValue()))
        self._known: dict[str, int] = {}

    def __call__(self, column: Any) -> npt.NDArray[np.int32]:
        """Return the partition of each value of an Arrow array, as :func:`cast_batch` makes it."""
        encoded = _plain(column, self._partitioning.data_type).dictionary_encode()
        ids = np.array(
            [*self._all(_texts(encoded.dictionary, self._partitioning)), self._of_null], dtype=np.int32
        )
        indices = encoded.indices.fill_null(len(ids) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(ids[indices], dtype=np.int32)

    def _all(self, texts: Sequence[str]) -> list[int]:
        if len(self._known) > _LARGEST_CACHE:
            self._known.clear()
        known = self._known
        for text in texts:
            if text not in known:
                known[text] = self._partition(text)
        return [known[text] for text in texts]

    def _partition(self, text: str) -> int:
        return int(self._function.getPartition(text))


def _plain(column: Any, data_type: str) -> Any:
    if data_type in ("LONG", "TIMESTAMP", "INT"):
        return stored_numbers(column, data_type)
    return column.cast(pa.int8() if data_type == "BOOLEAN" else pa.large_string())


def _texts(values: Any, partitioning: Partitioning) -> list[str]:
    texts = [str(value) for value in values.to_pylist()]
    if partitioning.data_type != "STRING":
        return texts
    # As Pinot stores them.
    return [text.partition("\0")[0][: partitioning.max_length] for text in texts]
