"""Turns messages of the input topic into records of keys.

A message that Pinot would not store, or that lacks a key column or its time, has no key: it is counted and
skipped, and if Pinot makes a row of it, queries never see that row.

A tombstone is a message without a value. Its key is Kafka's message key: a JSON object with the key's columns
or, if there is only one column, its plain text.

Whatever else goes wrong with a message is a fault of that message: it is counted in the same way. Otherwise
a single one would stop the table, as the coordinator would read it again after each restart.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import orjson
import xxhash
from numpy.typing import NDArray

from controller_client.errors import PinotPluginError
from key_coordinator.entries import Entries, concatenate
from key_coordinator.reading.avro_messages import AvroMessages
from key_coordinator.reading.ranking import ranks_of
from key_coordinator.reading.recipe import Recipe

__all__ = ["Messages", "Read", "RecordReader", "read_json"]


def read_json(values: Sequence[bytes]) -> list[Mapping[str, Any] | None]:
    """Read messages; None for one that is not a JSON object."""
    try:
        rows = list(map(orjson.loads, values))
    except orjson.JSONDecodeError:
        rows = [_one(value) for value in values]
    if set(map(type, rows)) == {dict}:
        return rows
    return [row if type(row) is dict else None for row in rows]


def _one(value: bytes) -> Any:
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError:
        return None


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Messages:
    """Messages of the input topic, as columns of one length.

    Attributes:
        partition: int32.
        offset: int64.
        value: None for a tombstone.
        time_ms: Kafka's timestamp, milliseconds since 1970; may be empty if there are no tombstones.
        key: Kafka's message key, or None; may be empty likewise.
    """

    partition: NDArray[np.int32]
    offset: NDArray[np.int64]
    value: Sequence[bytes | None]
    time_ms: Sequence[int] = ()
    key: Sequence[bytes | None] = ()

    def __len__(self) -> int:
        return len(self.value)

    def take(self, kept: NDArray[np.bool_]) -> Messages:
        """Return the selected messages."""
        return Messages(
            self.partition[kept],
            self.offset[kept],
            list(compress(self.value, kept)),
            list(compress(self.time_ms, kept)),
            list(compress(self.key, kept)),
        )

    def slice(self, begin: int, end: int) -> Messages:
        """Return the messages from one position to before another."""
        part = slice(begin, end)
        return Messages(
            self.partition[part], self.offset[part], self.value[part], self.time_ms[part], self.key[part]
        )


@dataclass(frozen=True)
class Read:
    """The result of reading messages.

    Attributes:
        records: Records of the messages with a key.
        refused: The number of messages without a key.
        example: Where the first message without a key is, and what is wrong with it, as text.
    """

    records: Entries
    refused: int
    example: str | None = None


class RecordReader:
    """Reads messages of one table; not thread-safe.

    Args:
        recipe: How to read them.

    Raises:
        ConfigError: The schema of its Avro messages is invalid.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._read_values = AvroMessages(recipe.message).read if recipe.message.is_avro else read_json
        self._has_logged = False

    def read(self, messages: Messages) -> Read:
        """Read messages.

        Raises:
            SourceError: The schema registry does not answer.
            ConfigError: The user's ranking function failed.
            SetupError: pandas is not installed, and a function ranks records.
        """
        try:
            return self._read(messages)
        except PinotPluginError:
            raise
        except Exception as error:  # the boundary: one message must not stop the table
            if not len(messages):
                raise
            if len(messages) == 1:
                return self._unread(messages, error)
            logger.debug("%d messages are read in two halves: %r", len(messages), error)
        middle = len(messages) // 2
        halves = [self.read(messages.slice(0, middle)), self.read(messages.slice(middle, len(messages)))]
        return Read(
            concatenate([half.records for half in halves]),
            sum(half.refused for half in halves),
            next((half.example for half in halves if half.example), None),
        )

    def _unread(self, messages: Messages, error: Exception) -> Read:
        example = _example(messages, {0: f"it cannot be read ({type(error).__name__})"})
        if not self._has_logged:
            # Only once, as whoever writes messages may write any number of them.
            self._has_logged = True
            logger.error("%s; it is counted as unread", example, exc_info=error)
        return Read(Entries.empty(), 1, example)

    def _read(self, messages: Messages) -> Read:
        rows, tombstones, reasons = self._rows(messages)
        recipe = self._recipe
        keys = [
            column.parts([None if row is None else row.get(column.name) for row in rows])
            for column in recipe.key
        ]
        for column, parts in zip(recipe.key, keys, strict=True):
            wrong = f"the key column {column.name} is missing or not of type {column.kind}"
            _refuse(reasons, rows, parts, wrong)
        times, there = recipe.time.times([None if row is None else row.get(recipe.time.name) for row in rows])
        for at in tombstones:
            times[at], there[at] = messages.time_ms[at], True
        if not there.all():
            wrong = f"the time column {recipe.time.name} is missing or not of type {recipe.time.kind}"
            _refuse(reasons, rows, [None if not has_time else b"" for has_time in there], wrong)
        for checked in recipe.checked:
            for at in checked.refused([None if row is None else row.get(checked.name) for row in rows]):
                reasons.setdefault(at, f"{checked.name} is not of type {checked.kind}")
        kept = np.ones(len(messages), bool)
        kept[list(reasons)] = False
        order = times if recipe.rank is None else ranks_of(recipe, rows, times, kept)
        hashes = _hashes(keys, kept)
        is_tombstone = np.zeros(len(messages), bool)
        is_tombstone[tombstones] = True
        records = Entries(
            hashes[:, 0].astype(np.uint64),
            hashes[:, 1].astype(np.uint64),
            messages.partition[kept],
            messages.offset[kept],
            order[kept],
            is_tombstone[kept],
        )
        return Read(records, len(reasons), _example(messages, reasons))

    def _rows(self, messages: Messages) -> tuple[list[Mapping[str, Any] | None], list[int], dict[int, str]]:
        """Return the messages' rows, the positions of tombstones, and what is wrong with some messages."""
        values = messages.value
        if None not in values:
            rows, tombstones = self._read_values(values), []  # type: ignore[arg-type]  # none is None
        else:
            tombstones = [at for at, value in enumerate(values) if value is None]
            rows = self._read_values([b"" if value is None else value for value in values])
            for at in tombstones:
                rows[at] = self._named(messages.key[at])
        if None not in rows:
            return rows, tombstones, {}
        without_value = set(tombstones)
        return (
            rows,
            tombstones,
            {
                at: "its message key is not a key of the table"
                if at in without_value
                else "it cannot be decoded"
                for at, row in enumerate(rows)
                if row is None
            },
        )

    def _named(self, key: bytes | None) -> Mapping[str, Any] | None:
        """Return the key's columns from the message key of a tombstone."""
        if key is None:
            return None
        names = [each.name for each in self._recipe.key]
        try:
            named = orjson.loads(key)
        except orjson.JSONDecodeError:
            named = None
        if isinstance(named, dict) and named.keys() >= set(names):
            return {name: named[name] for name in names}
        if len(names) > 1:
            return None
        try:
            return {names[0]: key.decode()}
        except UnicodeDecodeError:
            return None


def _refuse(
    reasons: dict[int, str],
    rows: Sequence[Mapping[str, Any] | None],
    parts: Sequence[bytes | None],
    reason: str,
) -> None:
    if None in parts:
        for at, part in enumerate(parts):
            if part is None and rows[at] is not None:
                reasons.setdefault(at, reason)


def _hashes(keys: Sequence[Sequence[bytes | None]], kept: NDArray[np.bool_]) -> NDArray[np.uint64]:
    whole = compress(zip(*keys, strict=True), kept)  # kept messages have all their parts
    digests = b"".join([xxhash.xxh3_128_digest(b"".join(parts)) for parts in whole])
    return np.frombuffer(digests, ">u8").reshape(-1, 2)


def _example(messages: Messages, reasons: Mapping[int, str]) -> str | None:
    if not reasons:
        return None
    first = min(reasons)
    return f"partition {messages.partition[first]}, offset {messages.offset[first]}: {reasons[first]}"
