"""Columns in the names of folders."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import DataError
from jvm_bridge.folder_columns import folder_columns

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("path", "columns"),
    [
        ("part-0.csv", {}),
        ("dt=2024-01-01/part-0.csv", {"dt": "2024-01-01"}),
        ("dt=2024-01-01/city=New%20York/a.csv", {"dt": "2024-01-01", "city": "New York"}),
        ("dt=__HIVE_DEFAULT_PARTITION__/a.csv", {"dt": None}),
        ("in/dt=1/more/x=2/a.csv", {"dt": "1", "x": "2"}),
        ("a=b=c/a.csv", {"a": "b=c"}),
        ("a=/a.csv", {"a": ""}),
        ("=b/a.csv", {}),
        ("x=1/x=1/a.csv", {"x": "1"}),
        ("a+b=1+2/a.csv", {"a+b": "1+2"}),
        ("rate=5%/a.csv", {"rate": "5%"}),
        ("dt=1/x=2", {"dt": "1"}),
        ("Ort=Zürich/a.csv", {"Ort": "Zürich"}),
        ("", {}),
        ("x=%ff/a.csv", {"x": "\udcff"}),
        ("%ff=1/x=\udcff/a.csv", {"x": "\udcff"}),
    ],
)
def test_columns(path: str, columns: dict[str, str | None]) -> None:
    assert folder_columns(path) == columns


@given(st.dictionaries(_TEXTS.filter(bool), _TEXTS))
def test_what_spark_writes_is_read_back(columns: dict[str, str]) -> None:
    folders = "".join(f"{quote(name, safe='')}={quote(text, safe='')}/" for name, text in columns.items())
    assert folder_columns(f"{folders}part-0.parquet") == columns


def test_two_values_of_a_column_are_refused() -> None:
    with pytest.raises(DataError, match="give 'x' two values: '1' and '2'"):
        folder_columns("x=1/x=2/a.csv")
