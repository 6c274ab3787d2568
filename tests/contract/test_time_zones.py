"""Texts in columns of type TIMESTAMP: the table's time zone counts, not that of the process that reads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.contract.segment_child import SegmentChild
from tests.contract.tables import examples, table_config
from tests.contract.test_times import sources, times_schema
from tests.support.pinned_pinot import home_variables

pytestmark = pytest.mark.jvm

ELSEWHERE = "Asia/Kathmandu"
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", ELSEWHERE)
CONFIG = table_config(null_handling=False)
SCHEMA = times_schema("TIMESTAMP", "TIMESTAMP")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SETTINGS = settings(
    max_examples=examples(4, 60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SegmentChild]:
    """A child whose process is in another time zone."""
    variables = home_variables(None, tmp_path_factory.mktemp("jars"))
    with SegmentChild(tmp_path_factory.mktemp("segments"), {**variables, "TZ": ELSEWHERE}) as running:
        yield running


@st.composite
def written_times(draw: st.DrawFn, zone: str) -> tuple[str, int | None]:
    """Return a text, and its milliseconds since 1970; None if there is no such time."""
    local = draw(st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001
    if draw(st.integers(0, 9)) == 0:
        millis = draw(st.integers(-(2**40), 2**42))
        return str(millis), millis
    text = f"{local:%Y-%m-%d}"
    digits = draw(st.integers(0, 9))
    shape = draw(st.sampled_from(["date", "minutes", "seconds", "short"]))
    if shape == "date":
        local = local.replace(hour=0, minute=0, second=0, microsecond=0)
    elif shape == "minutes":
        local = local.replace(second=0, microsecond=0)
        text += f"{draw(st.sampled_from(' T'))}{local:%H:%M}"
    elif shape == "short":
        local = local.replace(microsecond=0)
        text = f"{local.year}-{local.month}-{local.day} {local.hour}:{local.minute}:{local.second}"
    else:
        fraction = f"{local.microsecond:06}000"[:digits]
        local = local.replace(microsecond=int(f"{fraction:0<6}"[:6]))
        text += f"{draw(st.sampled_from(' T'))}{local:%H:%M:%S}" + (f".{fraction}" if fraction else "")
    offset = draw(st.sampled_from([None, None, "Z", "+05:30", "-0800"]))
    if offset is not None:
        ahead = {"Z": timedelta(0), "+05:30": timedelta(hours=5, minutes=30), "-0800": timedelta(hours=-8)}
        moment = local.replace(tzinfo=UTC) - ahead[offset]
        return text + offset, (moment - _EPOCH) // timedelta(milliseconds=1)
    moment = local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
    if moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) != local:
        return text, None
    return text, (moment - _EPOCH) // timedelta(milliseconds=1)


@SETTINGS
@given(st.data(), st.sampled_from(ZONES))
def test_a_text_is_the_same_time_wherever_it_is_read(
    child: SegmentChild, elsewhere: SegmentChild, tmp_path: Path, data: st.DataObject, zone: str
) -> None:
    times = data.draw(st.lists(written_times(zone), min_size=1, max_size=20))
    texts = [text for text, millis in times if millis is not None] or ["0"]
    expected = [millis for _, millis in times if millis is not None] or [0]
    for source in sources(child, tmp_path, texts).values():
        for reader in ("pinot", "auto"):
            for at in (child, elsewhere):
                built = at.build(CONFIG, SCHEMA, source, reader, time_zone=zone, read_back=True)
                assert [row["ts"] for row in built["read"]] == expected, (source, reader, texts, zone)


@pytest.mark.parametrize(
    ("zone", "text", "reason"),
    [
        ("Europe/Berlin", "2024-03-31 02:30:00", "there is no such time in Europe/Berlin"),
        ("UTC", "2024-02-30 00:00:00", "not a point in time"),
        ("UTC", "2024-01-01 24:00:00", "not a point in time"),
        ("UTC", "2024-01-01 00:00:60", "not a point in time"),
        ("UTC", "2024-13-01", "not a point in time"),
        ("UTC", "01.02.2024", "not a point in time"),
        ("UTC", "2024-01-01 00:00:00+25:00", "not a point in time"),
        ("UTC", "99999999999999999999", "not a point in time"),
    ],
)
def test_what_is_not_a_time_is_refused(
    child: SegmentChild, elsewhere: SegmentChild, tmp_path: Path, zone: str, text: str, reason: str
) -> None:
    for name, source in sources(child, tmp_path, ["2024-01-01", text]).items():
        if name == "arrow":
            continue
        for reader in ("pinot", "auto"):
            for at in (child, elsewhere):
                refused = at.build(CONFIG, SCHEMA, source, reader, time_zone=zone)
                assert f"row 2, field ts: found {text!r}; " in refused["message"]
                assert reason in refused["message"]


def test_the_first_of_two_times_counts(child: SegmentChild, tmp_path: Path) -> None:
    source = sources(child, tmp_path, ["2024-10-27 02:30:00"])["arrow"]
    built = child.build(CONFIG, SCHEMA, source, "auto", time_zone="Europe/Berlin", read_back=True)
    assert built["read"][0]["ts"] == 1_729_989_000_000


@pytest.mark.every_pinot
def test_values_of_transforms_and_defaults(child: SegmentChild, elsewhere: SegmentChild) -> None:
    schema = {
        "schemaName": "t",
        "dimensionFieldSpecs": [
            {"name": "made", "dataType": "TIMESTAMP"},
            {"name": "missing", "dataType": "TIMESTAMP", "defaultNullValue": "2024-01-01 00:00:00.0"},
        ],
    }
    transforms = [{"columnName": "made", "transformFunction": "concat(day, '12:00:00', ' ')"}]
    config = table_config(null_handling=False, ingestionConfig={"transformConfigs": transforms})
    rows = pa.table({"day": ["2024-07-01", "2024-12-01"], "missing": pa.array([None, None], pa.string())})
    for reader in ("pinot", "auto"):
        for at in (child, elsewhere) if child.reads_files else ():
            built = at.build(config, schema, rows, reader, time_zone="Europe/Berlin", read_back=True)
            assert [(row["made"], row["missing"]) for row in built["read"]] == [
                (_millis("2024-07-01T10:00"), _millis("2024-01-01T00:00")),
                (_millis("2024-12-01T11:00"), _millis("2024-01-01T00:00")),
            ]


def _millis(text: str) -> int:
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


def test_an_unknown_time_zone(child: SegmentChild) -> None:
    rows: Any = pa.table({"id": pa.array([1], pa.int32()), "ts": ["0"]})
    refused = child.build(CONFIG, SCHEMA, rows, "auto", time_zone="Europe/Atlantis")
    assert refused["error"] == "ConfigError"
    assert "no time zone 'Europe/Atlantis'" in refused["message"]
