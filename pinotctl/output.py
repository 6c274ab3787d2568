"""What ``pinotctl`` writes: data on stdout as a table or as JSON, notes and progress on stderr.

What is written may contain names and texts that others chose, so control characters in it are escaped.

rich is imported only to show a progress bar on a terminal, and to measure characters other than ASCII.
"""

from __future__ import annotations

import itertools
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Protocol

import click

from controller_client.clock import Clock, SystemClock
from controller_client.common.terminal import json_text, visible_lines
from controller_client.common.text import visible
from pinotctl.cells import json_value, table_lines

__all__ = ["Output", "OutputFormat", "Progress"]

_PLAIN_INTERVAL_S = 5.0
_LINES_AT_A_TIME = 1_000


class OutputFormat(StrEnum):
    """How data is written to stdout."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    VERTICAL = "vertical"


class Progress(Protocol):
    """Handle to a running progress display."""

    def advance(self, count: int = 1) -> None:
        """Count further units as done."""

    def update(self, *, done: int | None = None, total: int | None = None, text: str | None = None) -> None:
        """Set the number of units done, their total or the text."""


class Output:
    """Writes the result of one command.

    Args:
        output_format: How data is written; the command's ``--output`` sets it.
        clock: Paces the plain lines of progress.
    """

    def __init__(
        self,
        output_format: OutputFormat = OutputFormat.TABLE,
        *,
        clock: Clock | None = None,
    ) -> None:
        self.format = output_format
        self._clock = clock or SystemClock()

    @property
    def is_json(self) -> bool:
        """Whether the user asked for JSON."""
        return self.format is OutputFormat.JSON

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Write a table; as JSON, a list with one object for each row, whose keys are the columns."""
        if self.is_json:
            self.json([dict(zip(columns, row, strict=True)) for row in rows])
        else:
            self._draw(columns, rows, show_header=True)

    def record(self, record: Mapping[str, Any]) -> None:
        """Write one object: one line for each field, or a JSON object."""
        if self.is_json:
            self.json(dict(record))
        else:
            self._draw(("field", "value"), list(record.items()), show_header=False)

    def json(self, value: Any) -> None:
        """Write a JSON value, whatever the format: for what is JSON in any case, e.g. a table config."""
        click.echo(json_text(json_value(value), indent=2))

    def result(self, text: str, record: Mapping[str, Any]) -> None:
        """Report what an action did: a sentence on stderr and, with JSON, the object on stdout."""
        self.note(text)
        if self.is_json:
            self.json(dict(record))

    def line(self, text: str) -> None:
        """Write one line of data: for output that continues line by line."""
        click.echo(visible(text))

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines of data that have no control characters, many at a time."""
        rest = iter(lines)
        while block := list(itertools.islice(rest, _LINES_AT_A_TIME)):
            click.echo("\n".join(block))

    def json_line(self, value: Any) -> None:
        """Write a JSON value on one line: for output that continues value by value."""
        click.echo(json_text(json_value(value)))

    def document(self, text: str) -> None:
        """Write a document, e.g. CSV, unchanged; on a terminal, control characters are escaped."""
        click.echo(visible_lines(text) if sys.stdout.isatty() else text, nl=False)

    def note(self, text: str) -> None:
        """Write a message for the user to stderr."""
        click.echo(visible_lines(text), err=True)

    @contextmanager
    def progress(self, text: str, *, total: int | None = None, unit: str = "") -> Iterator[Progress]:
        """Show progress on stderr: a bar on a terminal, otherwise plain lines at intervals and at the end.

        Args:
            text: What is being done.
            total: Number of units to do, if it is known.
            unit: What is counted, e.g. ``segments``.
        """
        if sys.stderr.isatty():
            with _bar(text, total, unit) as bar:
                yield bar
            return
        lines = _PlainProgress(self.note, self._clock, text, total, unit)
        try:
            yield lines
        finally:
            lines.finish()

    def _draw(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, show_header: bool) -> None:
        # A pipe gets each row on one line, whatever its length.
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        self.lines(table_lines(columns, rows, width=width, show_header=show_header))


class _PlainProgress:
    def __init__(
        self,
        write: Callable[[str], None],
        clock: Clock,
        text: str,
        total: int | None,
        unit: str,
    ) -> None:
        self._write, self._clock, self._unit = write, clock, unit
        self._text, self._total, self._done = text, total, 0
        self._next_s = clock.monotonic() + _PLAIN_INTERVAL_S
        self._last = ""

    def advance(self, count: int = 1) -> None:
        self.update(done=self._done + count)

    def update(self, *, done: int | None = None, total: int | None = None, text: str | None = None) -> None:
        self._done = self._done if done is None else done
        self._total = self._total if total is None else total
        self._text = self._text if text is None else text
        if self._clock.monotonic() >= self._next_s:
            self._next_s = self._clock.monotonic() + _PLAIN_INTERVAL_S
            self._show()

    def finish(self) -> None:
        self._show()

    def _show(self) -> None:
        counted = f"{self._done}" if self._total is None else f"{self._done}/{self._total}"
        line = visible(f"{self._text}: {counted} {self._unit}".rstrip())
        if line != self._last:
            self._write(line)
            self._last = line


@contextmanager
def _bar(text: str, total: int | None, unit: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit, markup=False),
        TimeElapsedColumn(),
    )
    with RichProgress(*columns, console=Console(file=sys.stderr), transient=False) as display:
        task = display.add_task(visible(text), total=total)

        class Bar:
            def advance(self, count: int = 1) -> None:
                display.advance(task, count)

            def update(
                self, *, done: int | None = None, total: int | None = None, text: str | None = None
            ) -> None:
                shown = None if text is None else visible(text)
                display.update(task, completed=done, total=total, description=shown)

        yield Bar()
