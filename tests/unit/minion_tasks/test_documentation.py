"""The documentation's table of parameters matches the code."""

from __future__ import annotations

from pathlib import Path

from minion_tasks.file_ingestion.params.parameters import PARAMETERS, PREFIXES

DOCUMENT = Path(__file__).parents[3] / "docs" / "file-ingestion.md"


def _rows() -> list[str]:
    rows = []
    for parameter in PARAMETERS:
        default = "required" if parameter.required else f"`{parameter.default}`" if parameter.default else ""
        rows.append(f"| `{parameter.key}` | {default} | {parameter.doc} |")
    rows.extend(f"| `{prefix}*` |  | {doc} |" for prefix, doc in PREFIXES.items())
    return rows


def test_the_table_of_parameters_matches_the_code() -> None:
    lines = DOCUMENT.read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("<!-- parameters:"))
    end = lines.index("<!-- end of parameters -->")
    assert lines[start + 3 : end] == _rows(), "update the page with these lines:\n" + "\n".join(_rows())
