"""Avro messages: the first line is the schema, the rest is the message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller_client.common.avro_bounds import VALUES_PER_BYTE
from controller_client.errors import ConfigError
from key_coordinator.reading.avro_messages import AvroMessages
from key_coordinator.reading.recipe import MessageFormat

_MAX_VALUES_WITHOUT_BYTES = 10_000


def parse(data: bytes) -> None:
    schema, _, message = data.partition(b"\n")
    try:
        reader = AvroMessages(MessageFormat(schema.decode(errors="replace")))
    except ConfigError:
        return
    [row] = reader.read([message])
    assert _count(row) <= _MAX_VALUES_WITHOUT_BYTES + VALUES_PER_BYTE * len(message) + 1


def _count(value: Any) -> int:
    within = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return 1 + sum(map(_count, within))
