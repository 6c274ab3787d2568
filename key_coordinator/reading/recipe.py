"""How to read a table's messages; also sent to Spark's workers, so without access to the cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from key_coordinator.reading.columns import CheckedColumn, KeyColumn, TimeColumn

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["MessageFormat", "RankFunction", "Recipe"]

RankFunction = Callable[["pd.DataFrame"], "NDArray[np.int64]"]
"""Ranks records: receives the key's columns, the time column and those named in its attribute ``columns``, as
strings or None; for a tombstone, the key and Kafka's timestamp. Called once per batch, in the coordinator's
process or in the Python workers of Spark's tasks; after a failure, also for parts of the batch, and for no
records."""


@dataclass(frozen=True)
class MessageFormat:
    """The format of messages.

    Attributes:
        avro_schema: Schema of Avro messages, as JSON; None for JSON messages, or if the registry has it.
        registry_url: URL of Confluent's schema registry; its schema id precedes each message's data.
        registry_login: Credentials for the registry, as ``user:password``.
        confluent: Whether the messages come from Confluent's serializer.
        subjects: Topics, and other subjects, that may name a schema of the registry: as a subject itself,
            as ``<topic>-value``, ``<topic>-<record>`` or ``<record>``; None: any schema may be named.
    """

    avro_schema: str | None = None
    registry_url: str | None = None
    registry_login: str | None = field(default=None, repr=False)
    confluent: bool = False
    subjects: tuple[str, ...] | None = None

    @property
    def is_avro(self) -> bool:
        """Whether the messages are Avro rather than JSON."""
        return self.confluent or self.avro_schema is not None


@dataclass(frozen=True)
class Recipe:
    """How to read messages.

    Attributes:
        key: The key's columns, in order.
        time: The column that orders a key's records.
        checked: The other columns: Pinot drops a row if it cannot store one of them.
        message: The format of the messages.
        rank: The user's ranking function, if any: used instead of the time.
    """

    key: tuple[KeyColumn, ...]
    time: TimeColumn
    checked: tuple[CheckedColumn, ...] = ()
    message: MessageFormat = field(default_factory=MessageFormat)
    rank: RankFunction | None = field(default=None, repr=False)

    @property
    def rank_columns(self) -> tuple[str, ...]:
        """The columns passed to the user's function: key, time, and those it names; each once."""
        named = (*(each.name for each in self.key), self.time.name, *getattr(self.rank, "columns", ()))
        return tuple(dict.fromkeys(named))
