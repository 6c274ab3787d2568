"""Scrapes as series over the day: values between scrapes, stale series, and the conversion of times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.faults.day.scrapes import STEP_S, Scrape, day_series, values_text
from tests.support.promtool import promtool

PLACE = 'instance="s",job="pinot-plugins"'
NAMES = frozenset(
    {
        "pinot_plugins_pause_since_timestamp_seconds",
        "pinot_plugins_process_last_round_timestamp_seconds",
        "pinot_plugins_process_ready_ratio",
    }
)
RATE = 120.0


def day_of(real_s: float) -> float:
    return (real_s - 1000) * RATE


def test_a_value_is_held_until_the_next_scrape_and_gone_with_it() -> None:
    ready = "pinot_plugins_process_ready_ratio"
    scrapes = [
        Scrape(1000.5, {ready: 1, "pinot_plugins_ingestion_files_total": 3}),
        Scrape(1001.5, None),
        Scrape(1002.5, {ready: 0}),
        Scrape(1003.5, {}),
    ]
    series = day_series({"s": scrapes}, NAMES, day_of, 8 * STEP_S)
    assert series == {
        f"up{{{PLACE}}}": [None, 1, 1, 0, 0, 1, 1, 1, 1],
        f"{ready}{{{PLACE}}}": [None, 1, 1, None, None, 0, 0, None, None],
    }


def test_a_time_is_put_into_the_day_and_a_sign_of_life_keeps_its_age() -> None:
    since = 'pinot_plugins_pause_since_timestamp_seconds{table="t_REALTIME"}'
    last = 'pinot_plugins_process_last_round_timestamp_seconds{loop="partition-pause"}'
    scrape = Scrape(1002.0, {since: 1000.5, last: 1001.2})
    series = day_series({"s": [scrape]}, NAMES, day_of, 6 * STEP_S)
    before = [None] * 4
    of_since, of_last = (f"{name.removesuffix('}')},{PLACE}}}" for name in (since, last))
    assert series[of_since] == [*before, 60, 60, 60]
    assert series[of_last][:4] == before
    ages = [step * STEP_S - (series[of_last][step] or 0) for step in (4, 5, 6)]
    assert ages == pytest.approx([0.8] * 3)


@pytest.mark.parametrize(
    ("points", "text"),
    [
        ([1.0], "1"),
        ([1.0, 1.0, 1.0], "1+0x2"),
        ([None, None, 0.5], "_x2 0.5"),
        ([2.0, None, 3.0], "2 stale 3"),
        ([2.0, None, None, None, 3.0], "2 stale _x2 3"),
        ([-30.0, -30.0, 1e-7], "-30+0x1 9.9999999999999995e-08"),
    ],
)
def test_values_are_written_as_promtool_has_them(points: list[float | None], text: str) -> None:
    assert values_text(points) == text


def test_promtool_reads_them_as_they_were_meant(tmp_path: Path) -> None:
    points: list[float | None] = [None, None, -1.5, -1.5, 1e-7, 1e-7, None, None, None, 1.7e9, 4.0, 4.0]
    (tmp_path / "rules.yml").write_text("groups: []\n")
    test = {
        "rule_files": ["rules.yml"],
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": "x", "values": values_text(points)}],
                "promql_expr_test": [
                    {
                        "expr": "x",
                        "eval_time": f"{step * STEP_S}s",
                        "exp_samples": [] if value is None else [{"labels": "x", "value": value}],
                    }
                    for step, value in enumerate(points)
                ],
            }
        ],
    }
    (tmp_path / "test.json").write_text(json.dumps(test))
    promtool("test", "rules", tmp_path / "test.json")
