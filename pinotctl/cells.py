"""Values and tables as text: a table is drawn row by row, with widths from a sample of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from controller_client.common.terminal import json_text
from controller_client.common.text import visible

__all__ = ["cell_text", "json_value", "table_lines"]

_SAMPLE_ROWS = 1_000
_GAP = "  "
_LEAST_WIDTH = 4


def cell_text(value: Any) -> str:
    """The text of a value in a table or a CSV file: empty for null, JSON for lists and maps."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list, tuple)):
        return json_text(json_value(value))
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def json_value(value: Any) -> Any:
    """Write NaN, infinities and exact decimals as text, as Pinot does: JSON has none of them."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, Mapping):
        return {key: json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_value(item) for item in value]
    return value


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    width: int | None = None,
    show_header: bool = True,
) -> Iterator[str]:
    """Yield the lines of a table, without control characters.

    To measure every cell of a large table would take longer than to read it. So the columns are as wide as
    in up to 1,000 rows from all parts of the table; a wider cell elsewhere moves the rest of its line.

    Args:
        columns: The columns' names.
        rows: The rows.
        width: Width of the terminal, into which cells are folded; None: each row is one line.
        show_header: Whether the first line has the columns' names.
    """
    names = list(map(visible, columns))
    sample = [*rows[:: -(-len(rows) // _SAMPLE_ROWS) or 1], *rows[-1:]]
    measured = [*([names] if show_header else []), *map(_texts, sample)]
    widths = [max(map(_size, cells)) for cells in zip(*measured, strict=True)] or [0] * len(names)
    margin = ""
    if width is not None:
        margin = " "
        widths = _fitting(widths, width - len(margin) - len(_GAP) * (len(widths) - 1))
    if show_header:
        yield from _row_lines(names, widths, margin, fold=width is not None)
        if width is not None:
            yield margin + "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for row in rows:
        yield from _row_lines(_texts(row), widths, margin, fold=width is not None)


def _texts(row: Sequence[Any]) -> list[str]:
    return [visible(cell_text(value)) for value in row]


def _row_lines(cells: Sequence[str], widths: Sequence[int], margin: str, *, fold: bool) -> Iterator[str]:
    if not fold or all(_size(cell) <= width for cell, width in zip(cells, widths, strict=True)):
        yield _line(cells, widths, margin)
        return
    folded = [_folded(cell, width) for cell, width in zip(cells, widths, strict=True)]
    for number in range(max(map(len, folded))):
        parts = [parts[number] if number < len(parts) else "" for parts in folded]
        yield _line(parts, widths, margin)


def _line(cells: Sequence[str], widths: Sequence[int], margin: str) -> str:
    padded = (
        cell.ljust(width) if cell.isascii() else cell + " " * (width - _size(cell))
        for cell, width in zip(cells, widths, strict=True)
    )
    return (margin + _GAP.join(padded)).rstrip()


def _fitting(widths: Sequence[int], room: int) -> list[int]:
    """Make the widest columns narrower, all to the same width, so that the row fits."""
    limit = room
    for number, width in enumerate(sorted(widths)):
        limit = room // (len(widths) - number)
        if width > limit:
            break
        room -= width
    else:
        return list(widths)
    return [min(width, max(limit, _LEAST_WIDTH)) for width in widths]


def _folded(text: str, width: int) -> list[str]:
    """Return the parts of a text that is folded at blanks, or within a word that is longer than the width."""
    parts: list[str] = []
    begin = 0
    while begin < len(text) or not parts:
        end = begin + width
        while end > begin + 1 and _size(text[begin:end]) > width:
            end -= 1
        blank = text.rfind(" ", begin + 1, end + 1) if end < len(text) else -1
        parts.append(text[begin : end if blank < 0 else blank])
        begin = end if blank < 0 else blank + 1
    return parts


def _size(text: str) -> int:
    """The number of a terminal's columns that a text takes: two for a character such as 東."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)
