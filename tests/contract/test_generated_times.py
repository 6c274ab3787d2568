"""Generated time columns: formats, units, sizes, and rows without a usable time, for every reader."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller_client.models.epoch_format import UNIT_NS
from tests.contract.segment_child import SegmentChild
from tests.contract.tables import examples, table_config
from tests.contract.test_times import READERS, sources, times_schema, write_rows

pytestmark = [pytest.mark.jvm, pytest.mark.every_pinot]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLI = timedelta(milliseconds=1)
SETTINGS = settings(
    max_examples=examples(6, 120),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
# Pattern, the same for Python, and whether its texts are also numbers.
_PATTERNS = [
    ("yyyy-MM-dd", "%Y-%m-%d", False),
    ("yyyyMMdd", "%Y%m%d", True),
    ("yyyyMMddHH", "%Y%m%d%H", True),
    ("dd.MM.yyyy", "%d.%m.%Y", False),
    ("MM/dd/yyyy HH:mm", "%m/%d/%Y %H:%M", False),
    ("EEE dd MMM yyyy", "%a %d %b %Y", False),
    ("yyyy-MM-dd'T'HH:mm:ss", "%Y-%m-%dT%H:%M:%S", False),
]
_UNITS = ("MILLISECONDS", "SECONDS", "MINUTES", "HOURS", "DAYS")
_NOTHING, _NO_TIME, _EARLY = None, "notatime", datetime(1969, 5, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Column:
    """A time column.

    Attributes:
        stored: Returns the value for a moment.
        millis: Returns the time of that value.
    """

    data_type: str
    time_format: str
    stored: Callable[[datetime], Any]
    millis: Callable[[datetime], int]


@st.composite
def epochs(draw: st.DrawFn) -> Column:
    unit = draw(st.sampled_from(_UNITS))
    size = draw(st.sampled_from([1, 1, 2, 5, 15, 1000]))
    step_ms = size * UNIT_NS[unit] // 1_000_000
    written = draw(st.sampled_from([f"{size}:{unit}:EPOCH", f"EPOCH|{unit}|{size}"]))
    fits = 3_000_000_000_000 // step_ms < 2**31

    def stored(moment: datetime) -> int:
        return (moment - _EPOCH) // _MILLI // step_ms

    data_type = draw(st.sampled_from(["LONG", "STRING", *(["INT"] if fits else [])]))
    return Column(
        data_type,
        written,
        (lambda moment: str(stored(moment))) if data_type == "STRING" else stored,
        lambda moment: stored(moment) * step_ms,
    )


@st.composite
def dates(draw: st.DrawFn) -> Column:
    pattern, python, is_number = draw(st.sampled_from(_PATTERNS))
    zone = draw(st.sampled_from([None, None, "America/Los_Angeles"]))
    written = f"1:DAYS:SIMPLE_DATE_FORMAT:{pattern}" + (f" tz({zone})" if zone else "")
    data_type = draw(st.sampled_from(["STRING", *(["LONG", "INT"] if is_number else [])]))
    if pattern == "yyyyMMddHH" and data_type == "INT":
        data_type = "LONG"

    def local(moment: datetime) -> datetime:
        return moment.astimezone(ZoneInfo(zone or "UTC"))

    def stored(moment: datetime) -> Any:
        text = local(moment).strftime(python)
        return text if data_type == "STRING" else int(text)

    def millis(moment: datetime) -> int:
        cut = datetime.strptime(local(moment).strftime(python), python)  # noqa: DTZ007
        return (cut.replace(tzinfo=ZoneInfo(zone or "UTC")).astimezone(UTC) - _EPOCH) // _MILLI

    return Column(data_type, written, stored, millis)


TIMESTAMPS = st.just(
    Column(
        "TIMESTAMP",
        "TIMESTAMP",
        lambda moment: (moment - _EPOCH) // _MILLI,
        lambda moment: (moment - _EPOCH) // _MILLI,
    )
)
# Noon, since in autumn an hour of the night is there twice.
MOMENTS = st.datetimes(datetime(1991, 1, 1), datetime(2069, 12, 30)).map(  # noqa: DTZ001
    lambda moment: moment.replace(hour=12 + moment.hour % 8, tzinfo=UTC)
)


@SETTINGS
@given(
    column=st.one_of(epochs(), dates(), TIMESTAMPS),
    moments=st.lists(MOMENTS, min_size=1, max_size=12),
    bad=st.sampled_from([None, None, "nothing", "empty", "no time", "too early"]),
    place=st.integers(0, 12),
    continues=st.booleans(),
    null_handling=st.booleans(),
)
def test_time_columns(
    child: SegmentChild,
    tmp_path: Path,
    column: Column,
    moments: Sequence[datetime],
    bad: str | None,
    place: int,
    continues: bool,
    null_handling: bool,
) -> None:
    times = [column.stored(moment) for moment in moments]
    place = min(place, len(times))
    if bad is not None:
        value = {"nothing": None, "empty": "", "no time": "notatime"}.get(bad, column.stored(_EARLY))
        if isinstance(value, str):
            times = [str(time) for time in times]
        times.insert(place, value)
    config = table_config(
        time_column="ts", null_handling=null_handling, ingestionConfig={"continueOnError": continues}
    )
    schema = times_schema(column.data_type, column.time_format)
    for name, source in sources(child, tmp_path, times).items():
        for reader in READERS:
            built = child.build(config, schema, source, reader)
            what = (name, reader, column.data_type, column.time_format, times)
            if bad is not None:
                assert built.get("error") == "DataError", what
                # Arrow data that cannot be converted has no rows yet.
                if name != "arrow" or (value is None):
                    assert f"row {place + 1}, field ts: " in built["message"], (what, built)
                continue
            unit_ms = UNIT_NS[built["time_unit"]] // 1_000_000
            millis = [column.millis(moment) for moment in moments]
            assert built["start_time"] * unit_ms == min(millis), what
            assert built["end_time"] * unit_ms == max(millis), what
        if isinstance(source, Path) and bad is not None:
            good = write_rows(tmp_path / f"good{source.suffix}", [column.stored(moments[0])])
            many = child.build_files(config, schema, [source, good], "auto")
            assert list(many["failures"]) == [0]
            assert f"row {place + 1}, field ts: " in many["failures"][0]["message"]
            assert [each["rows"] for each in many["segments"]] == [1]
