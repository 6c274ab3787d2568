"""A table's ``segmentPartitionConfig``: computes the partition of values with Pinot's own functions."""

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

# Pinot's functions take a value as text, which for these types is the same in Python and Java.
_TYPES = ("INT", "LONG", "STRING", "BOOLEAN", "TIMESTAMP")
_DEFAULT_MAX_LENGTH = 512
_LARGEST_CACHE = 1_000_000


@dataclass(frozen=True)
class Partitioning:
    """How a table is partitioned.

    Attributes:
        column: The partition column, which is single-value.
        data_type: Its type.
        max_length: Length to which Pinot truncates strings.
        function: Pinot's name for the function, e.g. ``Murmur``.
        count: Number of partitions.
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
        """Read the partitioning from a table's config.

        Returns:
            The partitioning; None if the table has no partitions, several partition columns (which brokers do
            not use), or a column of an unsupported type.
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
    """Computes partitions of values; needs the JVM of this process.

    Args:
        partitioning: The table's partitioning.
        schema: The table's schema as returned by the controller: a null has the partition of the default
            value.

    Raises:
        ConfigError: Pinot rejects the function or its config.
    """

    def __init__(self, partitioning: Partitioning, schema: Mapping[str, Any]) -> None:

        from jvm_bridge.builder.pinot_classes import java_class, parse_schema
        from jvm_bridge.java_errors import JAVA_ERRORS, root_causes

        self._partitioning = partitioning
        config = java_class("java.util.HashMap")()
        for key, value in partitioning.function_config:
            config.put(key, value)
        factory = java_class("org.apache.pinot.segment.spi.partition.PartitionFunctionFactory")
        try:
            self._function = factory.getPartitionFunction(partitioning.function, partitioning.count, config)
        except JAVA_ERRORS as error:
            raise ConfigError(
                f"Pinot cannot partition {partitioning.column} by {partitioning.function}: "
                + root_causes(error)
            ) from error
        field = parse_schema(schema).getFieldSpecFor(partitioning.column)
        self._of_null = self._partition(str(field.getDefaultNullValue()))
        self._known: dict[str, int] = {}

    def __call__(self, column: Any) -> npt.NDArray[np.int32]:
        """Return the partition of each value of an Arrow array as returned by :func:`cast_batch`."""
        encoded = _plain(column, self._partitioning.data_type).dictionary_encode()
        ids = np.array(
            [*self._all(_texts(encoded.dictionary, self._partitioning)), self._of_null], dtype=np.int32
        )
        indices = encoded.indices.fill_null(len(ids) - 1).to_numpy(zero_copy_only=False)
        return np.asarray(ids[indices], dtype=np.int32)

    def _all(self, texts: Sequence[str]) -> list[int]:
        if len(self._known) > _LARGEST_CACHE:
            self._known.clear()
        partitions = self._known
        for text in texts:
            if text not in partitions:
                partitions[text] = self._partition(text)
        return [partitions[text] for text in texts]

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
    # Truncated as Pinot stores them.
    return [text.partition("\0")[0][: partitioning.max_length] for text in texts]
