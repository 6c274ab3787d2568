"""Checks the times that a segment's tar records for itself, by which Pinot prunes and deletes the segment."""

from __future__ import annotations

from pathlib import Path

from controller_client.common.parsing import whole_number
from controller_client.errors import DataError
from controller_client.models.epoch_format import UNIT_NS, EpochFormat
from controller_client.segment_tar.layout import PROPERTIES, Properties
from controller_client.segment_tar.reader import TarLimits, read_tar

__all__ = ["check_times"]

_MAX_BYTES = 8 << 20


def check_times(tar_path: Path, column: str, epoch: EpochFormat) -> None:
    """Reject a segment whose own times are not those of its rows.

    Args:
        tar_path: The segment's tar.gz.
        column: The table's time column.
        epoch: What its numbers count.

    Raises:
        DataError: The times differ, or the file is not a segment's tar.gz.
    """
    properties = _properties(tar_path)
    of_column = f"column.{column}."
    unit = properties.get("segment.time.unit")
    names = ("segment.start.time", of_column + "minValue", "segment.end.time", of_column + "maxValue")
    start, first, end, last = (whole_number(properties.get(name), signed=True) for name in names)
    if unit not in UNIT_NS or start is None or first is None or end is None or last is None:
        return  # no rows, or no times
    scale, step = UNIT_NS[unit], epoch.step_ns
    if start == first * step // scale and end == last * step // scale:
        return
    raise DataError(
        f"the segment's times are {start} to {end} {unit}, but its rows are from {first} to {last} steps of"
        f" {epoch.size} {epoch.unit} in column {column}: retention would delete it at the wrong time",
        expected=f"{first * step // scale} to {last * step // scale} {unit}",
        where=str(tar_path),
        remedy="build it with 'pinotctl task run' or SegmentBuilder: Pinot's own tools ignore the number of"
        " units in a step",
    )


def _properties(tar_path: Path) -> Properties:
    for entry in read_tar(tar_path, TarLimits()):
        if entry.path in (PROPERTIES, f"v3/{PROPERTIES}") and entry.size_bytes <= _MAX_BYTES:
            return Properties(b"".join(entry.pieces))
    raise DataError(f"the tar.gz has no {PROPERTIES}", expected="the files of a segment", where=str(tar_path))
