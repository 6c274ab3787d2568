"""The documentation's tables of options match the code."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_connectors.options import ReadOptions, WriteOptions, option_table

DOCUMENT = Path(__file__).parents[3] / "docs" / "spark.md"


@pytest.mark.parametrize(
    ("options", "name"), [(WriteOptions, "write options"), (ReadOptions, "read options")]
)
def test_the_tables_of_options_match_the_code(options: type, name: str) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    _, _, rest = text.partition(f"<!-- {name}:")
    table = rest.partition("-->\n\n")[2].partition(f"\n<!-- end of {name} -->")[0]
    assert table == option_table(options), "update the page with this table:\n" + option_table(options)
