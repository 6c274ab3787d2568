"""The stream config of a realtime table: how to read and replace it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller_client.errors import ConfigError
from controller_client.models import TableConfig

__all__ = ["StreamConfig", "with_stream"]


@dataclass(frozen=True)
class StreamConfig:
    """A table's stream config.

    Attributes:
        values: Pinot's keys and values; may contain credentials, so they are never in a repr.
    """

    values: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, table: TableConfig) -> StreamConfig:
        """Return the only stream config of a table.

        Raises:
            ConfigError: The table has no stream, or several.
        """
        maps = _maps(table.to_json())
        if len(maps) != 1:
            raise ConfigError(
                f"{table.name_with_type} has {len(maps)} stream configs",
                expected="a realtime table with one stream",
                where=table.name_with_type,
                remedy="change the config of a table with several topics with 'pinotctl table update'"
                if maps
                else None,
            )
        return cls({key: str(value) for key, value in maps[0].items()})

    @classmethod
    def all_of(cls, table: TableConfig) -> tuple[StreamConfig, ...]:
        """Return all stream configs of a table, in the order of its topics; raises what :meth:`of` raises.

        Pinot 1.4 and later support tables with several topics, see :mod:`.topics`.
        """
        maps = _maps(table.to_json())
        if not maps:
            cls.of(table)
        return tuple(cls({key: str(value) for key, value in each.items()}) for each in maps)

    @property
    def stream_type(self) -> str:
        """E.g. ``kafka``."""
        return self.values.get("streamType", "")

    @property
    def topic(self) -> str:
        """The topic's name."""
        return self.values.get(f"stream.{self.stream_type}.topic.name", "")

    def changed(self, changes: Mapping[str, str | None]) -> StreamConfig:
        """Return a copy with some keys set, and keys with the value None removed."""
        merged = {**self.values, **changes}
        return StreamConfig({key: value for key, value in merged.items() if value is not None})

    def differences(self, other: StreamConfig) -> list[str]:
        """Return the keys whose values differ, sorted."""
        keys = self.values.keys() | other.values.keys()
        return sorted(key for key in keys if self.values.get(key) != other.values.get(key))


def with_stream(table: TableConfig, stream: StreamConfig) -> TableConfig:
    """Return a copy of a table's config with its stream replaced; see :meth:`StreamConfig.of` for errors."""
    StreamConfig.of(table)
    document = copy.deepcopy(table.to_json())
    found = _maps(document)[0]
    found.clear()
    found.update(stream.values)
    return TableConfig.from_json(document)


def _maps(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return a table's stream configs, from whichever of the two places in the config Pinot prefers."""
    ingestion = (document.get("ingestionConfig") or {}).get("streamIngestionConfig") or {}
    maps: list[dict[str, Any]] = ingestion.get("streamConfigMaps") or []
    if maps:
        return maps
    old = (document.get("tableIndexConfig") or {}).get("streamConfigs")
    return [old] if old else []
