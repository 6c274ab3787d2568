"""How messages of a table are read; goes to Spark's workers too, so it holds no access to the cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from controller_client.coordinator.reading.columns import CheckedColumn, KeyColumn, TimeColumn

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["MessageFormat", "RankFunction", "Recipe"]

RankFunction = Callable[["pd.DataFrame"], "NDArray[np.int64]"]
"""Ranks records: gets the key's columns, the time column and those that its attribute ``columns`` names, as
text or None; of a tombstone the key and, as its time, Kafka's. Runs in the coordinator's process, or in the
Python workers of Spark's tasks, for each batch in one call."""


@dataclass(frozen=True)
class MessageFormat:
    """How messages are written.

    Attributes:
        avro_schema: Of Avro messages, as JSON; None for JSON messages, or where the registry has it.
        registry_url: Of Confluent's schema registry, whose number precedes each message's data.
        registry_login: User name and password for it, as ``user:password``.
        confluent: Whether the messages are those of Confluent's serializer.
    """

    avro_schema: str | None = None
    registry_url: str | None = None
    registry_login: str | None = field(default=None, repr=False)
    confluent: bool = False

    @property
    def is_avro(self) -> bool:
        """Whether the messages are Avro, and not JSON."""
        return self.confluent or self.avro_schema is not None


@dataclass(frozen=True)
class Recipe:
    """How messages are read.

    Attributes:
        key: The key's columns, in their order.
        time: The column that orders a key's records.
        checked: The other columns: Pinot drops a row of which it cannot store one.
        message: How messages are written.
        rank: The user's function, where there is one: it ranks in place of the time.
    """

    key: tuple[KeyColumn, ...]
    time: TimeColumn
    checked: tuple[CheckedColumn, ...] = ()
    message: MessageFormat = field(default_factory=MessageFormat)
    rank: RankFunction | None = field(default=None, repr=False)

    @property
    def rank_columns(self) -> tuple[str, ...]:
        """What the user's function gets: key, time, and what it asks for; each once."""
        named = (*(each.name for each in self.key), self.time.name, *getattr(self.rank, "columns", ()))
        return tuple(dict.fromkeys(named))
