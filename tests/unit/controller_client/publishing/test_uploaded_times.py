"""The times that a tar records for its segment, compared with those of its rows."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller_client.errors import DataError
from controller_client.models.epoch_format import UNIT_NS, EpochFormat
from controller_client.publishing.uploaded_times import check_times


def write_tar(path: Path, properties: dict[str, object], folder: str = "v3/") -> Path:
    content = "".join(f"{key} = {value}\n" for key, value in properties.items()).encode()
    with tarfile.open(path, "w:gz") as tar:
        member = tarfile.TarInfo(f"s/{folder}metadata.properties")
        member.size = len(content)
        tar.addfile(member, io.BytesIO(content))
    return path


def properties_of(unit: str, times: tuple[int, int], rows: tuple[int, int]) -> dict[str, object]:
    return {
        "segment.start.time": times[0],
        "segment.end.time": times[1],
        "segment.time.unit": unit,
        "column.ts.minValue": rows[0],
        "column.ts.maxValue": rows[1],
    }


# Steps of up to 1000 days, whose milliseconds fit a long of Java.
_STEPS = st.integers(1, 2**63 // (1000 * 86_400_000) - 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(2, 1000), st.sampled_from(sorted(UNIT_NS)), st.tuples(_STEPS, _STEPS))
def test_only_the_times_of_the_rows_are_accepted(
    tmp_path: Path, size: int, unit: str, rows: tuple[int, int]
) -> None:
    rows = (min(rows), max(rows))
    epoch = EpochFormat(size, unit)
    millis = tuple(row * epoch.step_ns // UNIT_NS["MILLISECONDS"] for row in rows)
    path = tmp_path / "segment.tar.gz"
    check_times(write_tar(path, properties_of("MILLISECONDS", (millis[0], millis[1]), rows)), "ts", epoch)
    with pytest.raises(DataError, match="retention would delete it at the wrong time"):
        check_times(write_tar(path, properties_of(unit, rows, rows)), "ts", epoch)


def test_segments_without_rows_or_times_are_accepted(tmp_path: Path) -> None:
    epoch = EpochFormat(5, "MINUTES")
    times: dict[str, object] = {"segment.start.time": 1, "segment.end.time": 1}
    some: list[dict[str, object]] = [{}, {"column.ts.minValue": 7}, {**times, "segment.time.unit": "DAYS"}]
    for properties in some:
        for folder in ("", "v3/"):
            check_times(write_tar(tmp_path / "segment.tar.gz", properties, folder), "ts", epoch)


def test_a_tar_without_metadata(tmp_path: Path) -> None:
    path = write_tar(tmp_path / "segment.tar.gz", {}, folder="other/")
    with pytest.raises(DataError, match=r"no metadata\.properties"):
        check_times(path, "ts", EpochFormat(5, "MINUTES"))
