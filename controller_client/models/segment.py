"""A segment's metadata in ZooKeeper, as the controller returns it (SegmentZKMetadata)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ConfigDict, Field, field_validator

from controller_client.models.base import PinotModel

__all__ = ["SegmentMetadata"]


class SegmentMetadata(PinotModel):
    """The response of ``GET /segments/{table}/{segment}/metadata``; Pinot returns all values as strings.

    Attributes:
        crc: Checksum of the segment's files.
        data_crc: Checksum of its forward indexes and dictionaries (Pinot 1.5).
        use_data_crc: Whether replicas may have another CRC if their data CRC is the same.
        total_docs: Number of rows.
        download_url: Where servers fetch the tar; None or empty: only from peers.
        size_bytes: Size of the tar; None or -1 if the controller does not know it.
        start_time: Smallest value of the time column, in ``time_unit``; None without a time column.
        end_time: Largest value of the time column.
        time_unit: Unit of both (java.util.concurrent.TimeUnit).
        creation_time_ms: When the segment was built, epoch milliseconds.
        push_time_ms: When it was first pushed, epoch milliseconds.
        refresh_time_ms: When it was last pushed, epoch milliseconds; None if it was pushed once.
        index_version: ``v3``.
        partition_metadata: Partitions by column, as JSON text.
        custom_map: Metadata added by the segment's builder.
    """

    model_config = ConfigDict(extra="allow", alias_generator=None, populate_by_name=True)

    crc: int | None = Field(None, alias="segment.crc")
    data_crc: int | None = Field(None, alias="segment.data.crc")
    use_data_crc: bool = Field(False, alias="segment.use.data.crc")
    total_docs: int | None = Field(None, alias="segment.total.docs")
    download_url: str | None = Field(None, alias="segment.download.url")
    size_bytes: int | None = Field(None, alias="segment.size.in.bytes")
    start_time: int | None = Field(None, alias="segment.start.time")
    end_time: int | None = Field(None, alias="segment.end.time")
    time_unit: str | None = Field(None, alias="segment.time.unit")
    creation_time_ms: int | None = Field(None, alias="segment.creation.time")
    push_time_ms: int | None = Field(None, alias="segment.push.time")
    refresh_time_ms: int | None = Field(None, alias="segment.refresh.time")
    index_version: str | None = Field(None, alias="segment.index.version")
    partition_metadata: str | None = Field(None, alias="segment.partition.metadata")
    custom_map: dict[str, str] = Field(default_factory=dict, alias="custom.map")

    @field_validator("custom_map", mode="before")
    @classmethod
    def _parse_custom_map(cls, value: Any) -> Mapping[str, str]:
        # 0.11.0 returns the map as a JSON string in the flat response.
        if isinstance(value, str):
            parsed: Mapping[str, str] = json.loads(value)
            return parsed
        return value or {}
