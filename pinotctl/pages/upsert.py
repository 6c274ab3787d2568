"""The page of ``pinotctl upsert status``: the marks of the servers, and what the table's mark waits for."""

from __future__ import annotations

from controller_client.common.console import Console
from controller_client.common.pages import Cell, PageColumn, Table, page_templates
from controller_client.common.text import utc_text
from controller_client.upsert.columns import NIL
from controller_client.upsert.coordinator_state import CoordinatorPhase
from controller_client.upsert.next_steps import next_steps
from controller_client.upsert.status import UpsertStatus

__all__ = ["upsert_page"]

_ROWS_SHOWN = 2_000


def upsert_page(status: UpsertStatus, console: Console) -> str:
    """Return the page.

    Args:
        status: What the command prints.
        console: Where the table, its segments and servers are linked to.
    """
    coordinator = status.coordinator
    partitions = [row for row in status.rows() if row[2] is not None]
    return (
        page_templates("pinotctl.pages")
        .get_template("upsert.html")
        .render(
            table=status.mark.table,
            table_href=console.table(status.mark.table),
            state="no mark" if not status.is_well else "behind" if status.lag_versions else "complete",
            style="over" if not status.is_well else "open" if status.lag_versions else "done",
            lines=list(status.lines()),
            tiles=_tiles(status),
            steps=next_steps(status),
            servers=_servers(status, console),
            partitions=_partitions(status, partitions, console),
            left_out=len(partitions) - _ROWS_SHOWN,
            coordinator=[
                ("phase", str(status.state.phase)),
                *([("run by", str(status.state.holder))] if status.state.holder else []),
                *(
                    [
                        ("generation", f"{coordinator.generation:,}"),
                        ("version", f"{coordinator.version:,}"),
                        ("version sent", _time(coordinator.at_ms)),
                        ("keys", f"{coordinator.keys:,}"),
                        *((str(name), str(value)) for name, value in coordinator.details.items()),
                    ]
                    if coordinator
                    else []
                ),
            ],
            now=_time(status.now_ms),
        )
    )


def _tiles(status: UpsertStatus) -> list[tuple[str, str]]:
    mark = status.mark.version
    is_running = status.state.phase is CoordinatorPhase.RUNNING
    return [
        ("none" if mark == NIL else f"{mark:,}", "mark of the table"),
        ("-" if status.lag_versions is None else f"{status.lag_versions:,}", "versions behind"),
        ("-" if status.lag_s is None else f"{status.lag_s:,.1f}", "seconds behind"),
        (f"{len(status.mark.servers):,}", "servers"),
        ("yes" if is_running else "no", "key coordinator runs"),
    ]


def _servers(status: UpsertStatus, console: Console) -> Table:
    """A row for each server; the bar is how far it is from the table's mark to the newest version."""
    newest = max(
        [
            *(record.mark for record in status.mark.servers.values() if record),
            *([status.coordinator.version] if status.coordinator else []),
        ],
        default=NIL,
    )
    behind = {
        name: newest - record.mark
        for name, record in status.mark.servers.items()
        if record is not None and record.mark != NIL
    }
    most = max(behind.values(), default=0)
    rows = []
    for name, record in sorted(status.mark.servers.items()):
        lag = behind.get(name)
        has_mark = record is not None and lag is not None
        rows.append(
            (
                Cell(name, console.instance(name)),
                f"{record.mark:,}" if record is not None and has_mark else "-",
                "-" if lag is None else Cell(f"{lag:,}", percent=round(100 * lag / most) if most else None),
                _time(record.at_ms) if record is not None and has_mark else "-",
                f"{len(record.partitions):,}" if record is not None else "-",
                _holds(status, name),
            )
        )
    return Table(
        [
            *(
                PageColumn("server"),
                PageColumn("mark", is_number=True),
                PageColumn("versions behind", is_number=True),
            ),
            *(PageColumn("version sent", is_short=True), PageColumn("partitions", is_number=True)),
            PageColumn("holds the mark back"),
        ],
        rows,
    )


def _holds(status: UpsertStatus, name: str) -> str:
    if name in status.mark.silent:
        return "yes: it has reported nothing"
    return "yes" if name in status.mark.holders else "no"


def _partitions(status: UpsertStatus, rows: list[tuple[object, ...]], console: Console) -> Table:
    table = status.mark.table
    return Table(
        [
            *(PageColumn("server"), PageColumn("partition", is_number=True), PageColumn("segment")),
            *(PageColumn("next offset", is_number=True), PageColumn("applied version", is_number=True)),
        ],
        [
            (
                Cell(str(server), console.instance(str(server))),
                str(number),
                "" if segment is None else Cell(str(segment), console.segment(table, str(segment))),
                str(indexed),
                str(applied),
            )
            for server, _mark, number, segment, indexed, applied, _holds_it in rows[:_ROWS_SHOWN]
        ],
    )


def _time(epoch_ms: int) -> str:
    return utc_text(epoch_ms) if epoch_ms else "-"
