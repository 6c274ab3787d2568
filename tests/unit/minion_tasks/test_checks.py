"""The checks of a staged version: how they are written, and what they judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import ConfigError
from controller_client.models import Schema
from controller_client.publishing.checks.judgement import RowCounts, failed_checks
from controller_client.publishing.checks.rules import Checks, ValueRange
from controller_client.segment_tar import ColumnValues, DescribedSegment
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams

FILLED = ColumnValues("1", "9", "0")
EMPTY = ColumnValues("0", "0", "0")


def row_counts(before: int, new: int, replaced: int) -> RowCounts:
    """Of a table of two segments, of which one is replaced; of none if it has no rows."""
    by_segment = {"kept": before - replaced, "replaced": replaced} if before else {}
    return RowCounts(new, by_segment, ["replaced"], lambda: by_segment)


ROWS = row_counts(before=1_000, new=1_000, replaced=0)

finite = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=3)


class LiveRows:
    """Rows with a value, by column, and which columns were asked for."""

    def __init__(self, counts: Mapping[str, int | None] | None = None) -> None:
        self._counts = counts or {}
        self.asked: list[str] = []

    def rows_with_value(self, column: str, default: str) -> int | None:
        assert default == "0"
        self.asked.append(column)
        return self._counts.get(column, 0)


def described(**columns: ColumnValues) -> DescribedSegment:
    return DescribedSegment("s1", (), 10, columns)


def checks_of(**configs: str) -> Checks:
    given_configs = {"inputDirURI": "file:///in", "inputFormat": "csv"}
    return FileIngestionParams.from_configs(
        given_configs | {f"checks.{name}": value for name, value in configs.items()}
    ).checks


def test_without_parameters_only_emptied_columns_are_refused() -> None:
    assert checks_of() == Checks(None, None, frozenset(), {})


def test_parameters() -> None:
    checks = checks_of(
        **{"minRows": "10", "maxRowsChange": "12.5%", "mayBecomeEmpty": "a, b", "range.price": "0..99.5"}
    )
    assert checks == Checks(
        10,
        Decimal("12.5"),
        frozenset({"a", "b"}),
        {"price": ValueRange(Decimal(0), Decimal("99.5"))},
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("minRows", "0", "at least 1"),
        ("maxRowsChange", "20", "a share such as 20%"),
        ("maxRowsChange", "-1%", "a share such as 20%"),
        ("maxRowsChange", "%", "is not a number"),
        ("maxRowsChange", "1%%", "a share such as 20%"),
        ("mayBecomeEmpty", " , ", "names of columns"),
        ("mayBecomeEmpty", "*, a", "names of columns"),
        ("range.price", "5", "a range such as 0..100"),
        ("range.price", "..", "a range such as 0..100"),
        ("range.price", "9..1", "the smaller number first"),
        ("range.price", "a..b", "is not a number"),
        ("range.price", "1.." + "9" * 1000, "is not a number"),
        ("range.", "1..2", "unknown parameter"),
        ("rows", "1", "unknown parameter"),
    ],
)
def test_parameters_that_are_no_checks(name: str, value: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        checks_of(**{name: value})


@given(least=st.none() | finite, most=st.none() | finite, value=finite)
def test_ranges_as_text(least: Decimal | None, most: Decimal | None, value: Decimal) -> None:
    ends = [end for end in (least, most) if end is not None]
    if not ends or sorted(ends) != ends:
        return
    value_range = ValueRange(least, most)
    assert ValueRange.parse(str(value_range)) == value_range
    assert value_range.contains(value) is (
        (least is None or least <= value) and (most is None or value <= most)
    )
    assert all(map(value_range.contains, ends))


@pytest.mark.parametrize(
    ("configs", "words"),
    [
        ({"range.none": "0.."}, r"checks.range.none: the schema has no column 'none'"),
        ({"range.s": "0.."}, "checks.range.s: the column is of type STRING"),
        ({"mayBecomeEmpty": "n,none"}, "checks.mayBecomeEmpty: the schema has no column 'none'"),
    ],
)
def test_checks_of_columns_that_do_not_fit(configs: dict[str, str], words: str) -> None:
    specs = [{"name": "s", "dataType": "STRING"}, {"name": "n", "dataType": "INT"}]
    schema = Schema.from_json({"schemaName": "t", "dimensionFieldSpecs": specs})
    checks_of(**{"range.n": "0..", "mayBecomeEmpty": "*"}).check_schema(schema)
    with pytest.raises(ConfigError, match=words):
        checks_of(**configs).check_schema(schema)


@pytest.mark.parametrize(
    ("configs", "rows", "words"),
    [
        ({"minRows": "1500"}, row_counts(1_000, 1_000, 600), "the table would have 1,400 rows"),
        ({"minRows": "1400"}, row_counts(1_000, 1_000, 600), None),
        (
            {"maxRowsChange": "20%"},
            row_counts(1_000, 500, 1_000),
            "500 rows instead of 1,000, which is -50.0%",
        ),
        ({"maxRowsChange": "20%"}, row_counts(1_000, 1_201, 1_000), "which is +20.1%"),
        ({"maxRowsChange": "20%"}, row_counts(1_000, 1_200, 1_000), None),
        ({"maxRowsChange": "20%"}, row_counts(1_000, 800, 1_000), None),
        ({"maxRowsChange": "0%"}, row_counts(0, 800, 0), None),
    ],
)
def test_numbers_of_rows(configs: dict[str, str], rows: RowCounts, words: str | None) -> None:
    reasons = failed_checks(checks_of(**configs), rows, [], LiveRows())
    if words is None:
        assert reasons == []
    else:
        (reason,) = reasons
        assert reason.startswith(f"checks.{next(iter(configs))} is {next(iter(configs.values()))}: ")
        assert words in reason


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (ColumnValues("0", "10", "0"), None),
        (ColumnValues("-1", "10", "0"), "segment s1 has -1"),
        (ColumnValues("0", "1.5E+3", "0"), r"segment s1 has 1.5E+3"),
        (ColumnValues("-Infinity", "1", "0"), "segment s1 has -Infinity"),
        (ColumnValues("1", "NaN", "0"), "segment s1 has NaN"),
        (ColumnValues(None, None, None), "no smallest and largest value"),
        (ColumnValues("x", "y", None), "no smallest and largest value"),
    ],
)
def test_ranges(values: ColumnValues, words: str | None) -> None:
    checks = checks_of(**{"range.n": "0..100", "mayBecomeEmpty": "*"})
    staged = [[described(n=ColumnValues("1", "2", "0"))], [described(n=values)]]
    reasons = failed_checks(checks, ROWS, staged, LiveRows())
    assert reasons == ([] if words is None else reasons)
    assert words is None or words in reasons[0]


def test_a_column_that_the_segments_do_not_have_is_in_no_range() -> None:
    (reason,) = failed_checks(checks_of(**{"range.n": "0.."}), ROWS, [[described()]], LiveRows())
    assert "segment s1 has no smallest and largest value" in reason


def test_a_column_with_values_may_not_lose_all_of_them() -> None:
    live = LiveRows({"a": 980, "b": 980, "rare": 19, "unknown": None})
    staged = [
        [described(a=EMPTY, b=EMPTY, rare=EMPTY, unknown=EMPTY, never=EMPTY, full=FILLED)],
        [described(a=EMPTY, b=FILLED, rare=EMPTY, unknown=EMPTY, never=EMPTY, full=FILLED)],
    ]
    (reason,) = failed_checks(checks_of(), ROWS, staged, live)
    assert reason.startswith(
        "column a has a value in 98.0% of the table's rows, but in none of the 1,000 new"
    )
    assert live.asked == ["a", "b", "never", "rare", "unknown"]


def test_columns_that_may_become_empty() -> None:
    live, staged = LiveRows({"a": 1_000, "b": 1_000}), [[described(a=EMPTY, b=EMPTY)]]
    assert len(failed_checks(checks_of(), ROWS, staged, live)) == 2
    (reason,) = failed_checks(checks_of(mayBecomeEmpty="a"), ROWS, staged, live)
    assert reason.startswith("column b ")
    live.asked.clear()
    assert failed_checks(checks_of(mayBecomeEmpty="*"), ROWS, staged, live) == []
    assert failed_checks(checks_of(), row_counts(0, 1_000, 0), staged, live) == []
    assert not live.asked


@pytest.mark.parametrize(("new", "is_refused"), [(40, True), (39, False)])
def test_few_new_rows_may_lack_a_value_by_chance(new: int, is_refused: bool) -> None:
    reasons = failed_checks(
        checks_of(), row_counts(1_000, new, 0), [[described(a=EMPTY)]], LiveRows({"a": 500})
    )
    assert bool(reasons) is is_refused


def test_segments_are_read_only_as_far_as_needed() -> None:
    read = []

    def staged() -> Iterator[list[DescribedSegment]]:
        for number in range(100):
            read.append(number)
            yield [described(a=EMPTY, b=FILLED)]

    assert failed_checks(checks_of(), ROWS, staged(), LiveRows()) == []
    assert read == [0]
    read.clear()
    assert failed_checks(checks_of(mayBecomeEmpty="*"), ROWS, staged(), LiveRows()) == []
    assert failed_checks(checks_of(), row_counts(0, 1_000, 0), staged(), LiveRows()) == []
    assert read == []
    (_,) = failed_checks(checks_of(), ROWS, staged(), LiveRows({"a": 1_000}))
    assert len(read) == 100
