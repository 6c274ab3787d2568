"""From a message of the input topic to what the key coordinator needs of it: all in Spark's own expressions.

Every column is read as text first and brought to the form in which Pinot stores its type, so that ``1``,
``1.0`` and ``"1"`` of a LONG column are one key, as they are one value in Pinot. A message that Pinot's
decoder would not understand, or that lacks a column of the key or its time, has no key: it is counted and
passed over, and a row that Pinot makes of it is never seen by queries.

A tombstone is a message without a value. Its key is Kafka's message key: a JSON object with the key's
columns, or, where there is one column, its plain text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spark_connectors.upsert.processor import NO_BUCKET

__all__ = ["Format", "Projection", "RankFunction", "project"]

RankFunction = Callable[[pd.DataFrame], NDArray[np.int64]]
"""Ranks records: gets the key's columns, the time column and those that its attribute ``columns`` names, as
text or None; of a tombstone the key and, as its time, Kafka's. Runs in the Python workers of Spark's
tasks."""

_CORRUPT = "$corrupt"
_JSON_OPTIONS = {
    "mode": "PERMISSIVE",
    "columnNameOfCorruptRecord": _CORRUPT,
    # As Pinot's own reader has it.
    "allowNonNumericNumbers": "false",
}


@dataclass(frozen=True)
class Format:
    """How messages are written.

    Attributes:
        avro_schema: Of Avro messages, as JSON; None for JSON messages.
        header_bytes: What precedes a message's Avro data: 5 with Confluent's registry, else 0.
    """

    avro_schema: str | None = None
    header_bytes: int = 0


@dataclass(frozen=True)
class Projection:
    """What is taken from messages.

    Attributes:
        key: The key's columns with their Pinot types, in their order.
        time: The time column with its type.
        message: How messages are written.
        buckets: How many buckets of keys there are.
        rank: Ranks records in place of the time; None takes that.
        rank_columns: What it gets beside key and time.
    """

    key: Mapping[str, str]
    time: tuple[str, str]
    message: Format
    buckets: int
    rank: RankFunction | None = None
    rank_columns: Sequence[str] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """All that are read, each once."""
        return tuple(dict.fromkeys([*self.key, self.time[0], *self.rank_columns]))


def project(messages: DataFrame, projection: Projection) -> DataFrame:
    """Read Kafka's messages.

    Args:
        messages: As Spark's Kafka source gives them.
        projection: What is taken.

    Returns:
        ``bucket, key_hash, partition, offset, order, seen, tombstone``; the bucket is ``NO_BUCKET`` of
        messages without a key.
    """
    tombstone = fn.col("value").isNull()
    read = messages.select(
        "partition",
        "offset",
        fn.unix_millis("timestamp").alias("kafka_ms"),
        # A producer's clock that is ahead must not make all other keys look old. Spark keeps this time with
        # the batch, so that one which is run again has the same.
        fn.least(fn.unix_millis("timestamp"), fn.unix_millis(fn.current_timestamp())).alias("seen"),
        tombstone.alias("tombstone"),
        _values(projection).alias("row"),
        _message_key(projection).alias("named"),
    )
    texts = read.select(
        *("partition", "offset", "seen", "kafka_ms", "tombstone"),
        *(
            fn.when(fn.col("tombstone"), fn.col("named").getField(name) if name in projection.key else None)
            .when(fn.col("row").getField(_CORRUPT).isNull(), fn.col("row").getField(name))
            .alias(f"text_{number}")
            for number, name in enumerate(projection.columns)
        ),
    )
    text = {name: fn.col(f"text_{number}") for number, name in enumerate(projection.columns)}
    parts = [_canonical(text[name], kind) for name, kind in projection.key.items()]
    # With their lengths: ("a", "bc") is not ("ab", "c").
    joined = fn.concat(*(fn.concat(fn.length(part).cast("string"), fn.lit(":"), part) for part in parts))
    keyed = texts.select(
        *("partition", "offset", "seen", "tombstone"),
        fn.substring(fn.unhex(fn.sha2(joined.cast("binary"), 256)), 1, 16).alias("key_hash"),
        _order(projection, text).alias("order"),
    )
    has_key = fn.col("key_hash").isNotNull() & fn.col("order").isNotNull()
    bucket = fn.pmod(fn.xxhash64("key_hash"), fn.lit(projection.buckets)).cast("int")
    return keyed.withColumn("bucket", fn.when(has_key, bucket).otherwise(NO_BUCKET))


def _values(projection: Projection) -> Column:
    """The message's columns as a struct of texts; its ``$corrupt`` is not null where it is not understood."""
    value, columns = fn.col("value"), projection.columns
    if projection.message.avro_schema is None:
        wanted = [StructField(name, StringType()) for name in (*columns, _CORRUPT)]
        return fn.from_json(value.cast("string"), StructType(wanted), _JSON_OPTIONS)
    from pyspark.sql.avro.functions import from_avro

    header = projection.message.header_bytes
    data = fn.substring(value, header + 1, 2**31 - 1) if header else value
    row = from_avro(data, projection.message.avro_schema, {"mode": "PERMISSIVE"})
    fields = [row.getField(name).cast("string").alias(name) for name in columns]
    wrong_head = (
        fn.when(fn.hex(fn.substring(value, 1, 1)) != "00", "not of Confluent's serializer")
        if header
        else fn.lit(None).cast("string")
    )
    return fn.struct(*fields, wrong_head.alias(_CORRUPT))


def _message_key(projection: Projection) -> Column:
    """The key's columns as Kafka's message key of a tombstone has them, as a struct of texts."""
    names = [*projection.key]
    text = fn.when(fn.col("value").isNull(), fn.col("key").cast("string"))
    kind = StructType([StructField(name, StringType()) for name in names])
    parsed = fn.from_json(text, kind)
    if len(names) > 1:
        return parsed
    return fn.struct(fn.coalesce(parsed.getField(names[0]), text).alias(names[0]))


def _canonical(text: Column, kind: str) -> Column:
    """The text of a value as Pinot stores it; null where it is no value of the type."""
    if kind == "STRING":
        return text
    if kind == "BOOLEAN":
        return fn.when(fn.lower(text).isin("true", "1"), "1").when(text.isNotNull(), "0")
    return _whole(text, kind).cast("string")


def _whole(text: Column, kind: str) -> Column:
    numbers = [text.try_cast("bigint"), text.try_cast("double").try_cast("bigint")]
    times = [fn.unix_millis(fn.try_to_timestamp(text))] if kind == "TIMESTAMP" else []
    return fn.coalesce(*numbers, *times)


def _order(projection: Projection, text: Mapping[str, Column]) -> Column:
    name, kind = projection.time
    time = fn.when(fn.col("tombstone"), fn.col("kafka_ms")).otherwise(_whole(text[name], kind))
    if projection.rank is None:
        return time
    given = [(time.cast("string") if each == name else column).alias(each) for each, column in text.items()]
    needed = [*projection.key, name]
    return fn.when(time.isNotNull(), _ranked(projection.rank, needed)(fn.struct(*given)))


def _ranked(rank: RankFunction, needed: Sequence[str]) -> Callable[[Column], Column]:
    def ranks(frame: pd.DataFrame) -> pd.Series:
        """Spark's call for a part of a batch, in a task's Python worker."""
        # Spark hands over all messages, also those that have no key: they are not the user's business.
        whole = frame[needed].notna().all(axis=1).to_numpy()
        found = np.zeros(len(frame), np.int64)
        if whole.any():
            found[whole] = np.asarray(rank(frame[whole].reset_index(drop=True)), np.int64)
        return pd.Series(found)

    return pandas_udf(ranks, LongType())  # type: ignore[call-overload, no-any-return]  # by its documents
