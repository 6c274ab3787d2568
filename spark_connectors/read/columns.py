"""Which Spark type a Pinot column is read as, and which types a user's schema may request instead.

=============  =================================  ============================================
Pinot          read as                            also, by ``.schema(...)``
=============  =================================  ============================================
INT            int                                long
LONG           long                               -
FLOAT          float                              double
DOUBLE         double                             -
BIG_DECIMAL    string, or by ``decimalType``      string, any decimal that fits each value
BOOLEAN        boolean                            -
TIMESTAMP      timestamp                          long (epoch milliseconds)
STRING, JSON   string                             -
BYTES          binary                             -
multi-value    array of the above                 array of the above
=============  =================================  ============================================
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as spark

from controller_client.errors import ConfigError
from controller_client.models import Schema
from spark_connectors.types import arrow_schema

__all__ = ["ReadColumn", "choose", "columns_of", "spark_schema", "target_schema"]

_TYPES: dict[str, tuple[spark.DataType, ...]] = {
    "INT": (spark.IntegerType(), spark.LongType()),
    "LONG": (spark.LongType(),),
    "FLOAT": (spark.FloatType(), spark.DoubleType()),
    "DOUBLE": (spark.DoubleType(),),
    "BIG_DECIMAL": (spark.StringType(),),
    "BOOLEAN": (spark.BooleanType(),),
    "TIMESTAMP": (spark.TimestampType(), spark.LongType()),
    "STRING": (spark.StringType(),),
    "JSON": (spark.StringType(),),
    "BYTES": (spark.BinaryType(),),
}


@dataclass(frozen=True)
class ReadColumn:
    """A column to read.

    Attributes:
        name: Name in the table and in the DataFrame.
        pinot_type: Pinot's data type, e.g. ``INT``.
        single_value: False for a multi-value column.
        spark_type: The type as which it is read.
        nullable: Whether the DataFrame's column may contain nulls.
    """

    name: str
    pinot_type: str
    single_value: bool
    spark_type: spark.DataType
    nullable: bool = True

    @property
    def simple_type(self) -> str:
        """Its Spark type as users write it."""
        return self.spark_type.simpleString()


def columns_of(
    schema: Schema, decimal_type: tuple[int, int] | None, names: Sequence[str] = ()
) -> tuple[ReadColumn, ...]:
    """Return a table's columns with the types as which they are read, ordered like the schema or the names.

    Raises:
        ConfigError: The table has no such column, or the type of a column cannot be read.
    """
    columns = {
        field.name: column(field.name, field.data_type, field.single_value, decimal_type)
        for field in schema.fields
    }
    return _picked(columns, names) if names else tuple(columns.values())


def column(
    name: str, pinot_type: str, single_value: bool, decimal_type: tuple[int, int] | None
) -> ReadColumn:
    """Create a column with the type as which it is read.

    Raises:
        ConfigError: The type cannot be read.
    """
    if pinot_type not in _TYPES:
        raise ConfigError(
            f"column {name} has the type {pinot_type}, which cannot be read",
            expected=", ".join(_TYPES),
            remedy="list the other columns in the option 'columns'",
        )
    element = _TYPES[pinot_type][0]
    if pinot_type == "BIG_DECIMAL" and decimal_type is not None:
        element = spark.DecimalType(*decimal_type)
    # A multi-value contains no nulls.
    whole = element if single_value else spark.ArrayType(element, containsNull=False)
    return ReadColumn(name, pinot_type, single_value, whole)


def choose(columns: tuple[ReadColumn, ...], asked: spark.StructType) -> tuple[ReadColumn, ...]:
    """Select the columns of a DataFrame's schema, whether inferred or the user's.

    Raises:
        ConfigError: Fields are not columns, or their types do not fit; the error lists all of them.
    """
    by_name = {each.name: each for each in columns}
    names = asked.fieldNames()
    if not names:
        raise ConfigError("the schema has no columns", expected=", ".join(by_name))
    _check_names(by_name, names)
    refused = [
        f"{field.name}: {field.dataType.simpleString()}, but the column is read as "
        f"{by_name[field.name].simple_type}"
        for field in asked.fields
        if not _fits(by_name[field.name], field.dataType)
    ]
    if refused:
        raise ConfigError(
            "the schema does not fit the table:\n  " + "\n  ".join(refused),
            remedy="omit the schema, or cast after reading",
        )
    return tuple(
        ReadColumn(
            field.name,
            by_name[field.name].pinot_type,
            by_name[field.name].single_value,
            field.dataType,
            field.nullable,
        )
        for field in asked.fields
    )


def spark_schema(columns: Iterable[ReadColumn]) -> spark.StructType:
    """Return the DataFrame's schema."""
    return spark.StructType(
        [spark.StructField(each.name, each.spark_type, each.nullable) for each in columns]
    )


def target_schema(columns: Iterable[ReadColumn]) -> Any:
    """Return the Arrow schema that Spark expects of each batch."""
    return arrow_schema(spark_schema(columns))


def _picked(found: dict[str, ReadColumn], names: Sequence[str]) -> tuple[ReadColumn, ...]:
    _check_names(found, names)
    return tuple(found[name] for name in names)


def _check_names(found: dict[str, ReadColumn], names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in found]
    if unknown:
        raise ConfigError(f"the table has no column {', '.join(unknown)}", expected=", ".join(found))


def _fits(read_column: ReadColumn, asked: spark.DataType) -> bool:
    if not read_column.single_value:
        if not isinstance(asked, spark.ArrayType):
            return False
        asked = asked.elementType
    if read_column.pinot_type == "BIG_DECIMAL" and isinstance(asked, spark.DecimalType):
        return True
    return asked in _TYPES[read_column.pinot_type]
