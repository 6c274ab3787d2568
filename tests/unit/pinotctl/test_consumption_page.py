"""The page of ``pinotctl consumption status``: what it shows of a status, and of a watch."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from controller_client.common.console import Console
from controller_client.common.names import TableName
from controller_client.consumption.state.lag_history import Reading
from controller_client.consumption.state.status import PartitionState, TableState, TableStatus
from pinotctl.pages.consumption import ConsumptionPage
from pinotctl.pages.lag_chart import lag_chart
from tests.unit.pinotctl.test_consumption_view import PARTITION, STATUS, UNKNOWN

NOW = 1_700_000_100_000
CONSOLE = Console("http://me:secret@host:9000")
HOSTILE = "<img src=x onerror=alert(1)>'\"\x1b[31m"


def page_of(*readings: TableStatus | None, console: Console = CONSOLE) -> str:
    """Return the page after one reading, or after a watch; None is a reading without tables."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        with ConsumptionPage(file, console, *([2.0] if len(readings) > 1 else [])) as page:
            for number, status in enumerate(readings):
                page.show([status] if status else [], NOW + number)
        return file.read_text(encoding="utf-8")


def watched_page() -> str:
    """A page of a watch that has ended, after three readings, without a console to link to."""
    readings = (replace(STATUS, partitions=(replace(PARTITION, lag=lag), UNKNOWN)) for lag in (0, 30, 60))
    return page_of(*readings, console=Console())


def test_one_reading_has_partitions_pauses_and_links() -> None:
    text = page_of(STATUS)
    segment = "http://host:9000/#/tenants/table/t_REALTIME/t__0__1__20260101T0000Z"
    assert f'<a href="{segment}">t__0__1__20260101T0000Z</a>' in text
    assert "secret" not in text
    assert '<td data-head="who">me</td>' in text
    assert '<td class="short" data-head="since">2023-11-14T22:13:20Z</td>' in text
    assert '<td data-head="why">why: more</td>' in text
    assert "the stream has dropped 5 unread offsets: 10 to 14" in text
    assert "<code>pinotctl consumption pause t_REALTIME</code>" in text
    assert "refresh" not in text
    assert "<svg" not in text, "one reading is no curve"


def test_a_watch_is_reloaded_until_it_ends_however_it_ends(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    page = ConsumptionPage(file, CONSOLE, 7.0)

    def interrupted() -> None:
        with page:
            page.show([STATUS], NOW)
            assert '<meta http-equiv="refresh" content="7">' in file.read_text(encoding="utf-8")
            page.show([STATUS], NOW + 7000)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    text = file.read_text(encoding="utf-8")
    assert "refresh" not in text
    assert 'class="curve line1"' in text
    assert "As of 2023-11-14T22:15:07Z." in text


def test_a_watch_that_read_nothing_writes_nothing(tmp_path: Path) -> None:
    with ConsumptionPage(tmp_path / "page.html", CONSOLE, 2.0):
        pass
    assert list(tmp_path.iterdir()) == []


def test_without_tables_it_says_how_to_begin() -> None:
    text = page_of(None)
    for missing in ("There is no realtime table.", "There is no partition.", "Nothing is paused."):
        assert missing in text
    assert "table create" in text


def test_names_do_nothing() -> None:
    status = replace(
        STATUS,
        table=TableName(f"{HOSTILE}_REALTIME"),
        holders=(replace(STATUS.holders[0], by=HOSTILE, reason=HOSTILE),),
        stream_problem=HOSTILE,
        paused_topics={1: HOSTILE},
        partitions=(replace(PARTITION, segment=HOSTILE, servers=(HOSTILE,)),),
    )
    text = page_of(status, status)
    assert "<img" not in text
    assert "\x1b" not in text
    assert r"&lt;img src=x onerror=alert(1)&gt;&#39;&#34;\x1b[31m" in text


def test_of_very_many_partitions_the_first_are_shown() -> None:
    partitions = tuple(replace(UNKNOWN, partition=number) for number in range(2003))
    text = page_of(replace(STATUS, partitions=partitions))
    assert text.count('data-head="partition">') == 2000
    assert "3 more are not shown" in text


def test_a_healthy_table_is_watched_next() -> None:
    fine = replace(UNKNOWN, state=PartitionState.CONSUMING, lag=0)
    status = replace(
        STATUS, state=TableState.CONSUMING, holders=(), foreign=False, pinot_pause=None, stream_problem=None
    )
    text = page_of(replace(status, partitions=(fine,)))
    assert "Nothing: every partition consumes." in text
    assert "<code>pinotctl consumption status t_REALTIME --watch --html consumption.html</code>" in text


def readings(*lags: dict[int, int], paused: tuple[int, ...] = ()) -> list[Reading]:
    return [Reading(1000 * number, number in paused, each) for number, each in enumerate(lags)]


def test_a_curve_spans_the_first_to_the_last_reading() -> None:
    chart = lag_chart(readings({0: 0}, {0: 50}, {0: 100}))
    assert chart is not None
    (curve,) = chart.curves
    points = [tuple(map(float, point)) for point in re.findall(r"[ML](\S+?) ([\d.]+)", curve.path)]
    middle = (chart.left + chart.right) / 2
    wanted = [(chart.left, chart.bottom), (middle, (chart.top + chart.bottom) / 2), (chart.right, chart.top)]
    assert points == [pytest.approx(point, abs=0.5) for point in wanted]
    assert (curve.name, curve.last) == ("partition 0", "100")
    assert chart.label == "Lag of 1 partition from 00:00:00 to 00:00:02: at most 100 rows"


def test_a_curve_has_a_gap_where_the_lag_was_not_known() -> None:
    chart = lag_chart(readings({0: 1}, {}, {0: 3}, {0: 4}))
    assert chart is not None
    assert (chart.curves[0].path.count("M"), chart.curves[0].path.count("L")) == (2, 1)


def test_the_six_greatest_have_a_curve_each_and_the_others_one() -> None:
    lags = {number: 10 * number for number in range(40)}
    chart = lag_chart(readings(lags, lags))
    assert chart is not None
    assert [(curve.style, curve.name, curve.last) for curve in chart.curves] == [
        ("others", "greatest of 34 others", "330"),
        *((f"line{index}", f"partition {33 + index}", f"{330 + 10 * index}") for index in range(1, 7)),
    ]


def test_the_time_of_a_pause_is_shaded_once() -> None:
    chart = lag_chart(readings(*[{0: 1}] * 7, paused=(1, 2, 5, 6)))
    assert chart is not None
    scale = (chart.right - chart.left) / 6
    assert [(round(b.x - chart.left), round(b.width)) for b in chart.bands] == [
        (round(scale), round(2 * scale)),
        (round(5 * scale), round(scale)),
    ]


@pytest.mark.parametrize("found", [[], readings({0: 1}), readings({}, {})])
def test_without_two_readings_or_any_lag_there_is_no_chart(found: list[Reading]) -> None:
    assert lag_chart(found) is None
