"""Have servers drop segments and load them again, which gets a segment out of ERROR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import click

from controller_client.common.names import TableName
from controller_client.common.text import counted_text
from controller_client.common.waiting import wait_until
from controller_client.errors import NotFoundError
from pinotctl.arguments import table_with_type
from pinotctl.context import CliContext, pass_cli
from pinotctl.named_arguments import segment_argument, table_argument
from pinotctl.options import dry_run_option, output_option, wait_options

__all__ = ["reset"]

_WAKE_EVERY_POLLS = 5


@click.command()
@table_argument()
@segment_argument("segment_names", metavar="[SEGMENT]...", nargs=-1)
@click.option("--errors", is_flag=True, help="Reset all of the table's segments that are in ERROR.")
@click.option("--server", metavar="NAME", help="Only on this server.")
@wait_options("the servers have loaded them")
@dry_run_option
@output_option()
@pass_cli
def reset(
    cli: CliContext,
    table_name: str,
    segment_names: tuple[str, ...],
    errors: bool,
    server: str | None,
    wait: bool,
    timeout_s: float,
    dry_run: bool,
) -> None:
    """Have servers drop segments and load them again: the named ones, or all that are in ERROR.

    Meanwhile queries use the other replicas, if there are any. 'table reload' reloads segments in place.
    """
    if bool(segment_names) == errors:
        raise click.UsageError("pass either segments or --errors")
    client = cli.client()
    table = table_with_type(client, table_name)
    ideal, seen = client.tables.ideal_state(table), client.tables.external_view(table)
    if errors:
        names = [
            name
            for name, states in sorted(seen.items())
            if any(state == "ERROR" and server in (None, each) for each, state in states.items())
        ]
    else:
        names = list(segment_names)
    missing = [name for name in names if name not in ideal or (server and server not in ideal[name])]
    if missing:
        where = f" on {server}" if server else ""
        raise NotFoundError(
            f"{table} has no segment {', '.join(missing)}{where}",
            remedy=f"see 'pinotctl table state {table}'",
        )
    record = {
        "table": table,
        "segments": names,
        "server": server,
        "changed": bool(names) and not dry_run,
        "dry_run": dry_run,
        "online": False,
    }
    what = f"{counted_text(len(names), 'segment')} of {table}"
    if dry_run or not names:
        text = f"{what} would be reset: {', '.join(names)}." if names else f"{table} has no segment in ERROR."
        cli.out.result(text, record)
        return
    loading = _Loading(cli, table, names, {server} if server else None) if wait else None
    with cli.out.progress(f"Resetting {table}", total=len(names), unit="segments") as progress:
        for name in names:
            client.segments.reset(table, name, server=server)
            progress.advance()
    if loading is None:
        cli.out.result(f"Reset {what}; 'pinotctl segment wait {table}' waits until they are loaded.", record)
        return
    loading.wait(timeout_s)
    cli.out.result(f"Reset {what}; all are loaded.", {**record, "online": True})


class _Loading:
    """Waits until servers have dropped segments and loaded them again.

    The states alone do not show it: a segment that a server has not dropped yet counts as loaded, too.
    """

    def __init__(
        self, cli: CliContext, table: TableName, names: Sequence[str], servers: set[str] | None
    ) -> None:
        self._cli, self._table, self._names = cli, table, names
        ideal = cli.client().tables.ideal_state(table)
        self._servers = servers or {each for name in names for each in ideal[name]}
        self._before = self._transitions()

    def wait(self, timeout_s: float) -> None:
        """Wait until all segments are loaded.

        Raises:
            WaitTimeoutError: Not all are loaded in time.
        """
        from controller_client.helix import wake_helix
        from controller_client.rest.segment_states import first_few

        client, table, names = self._cli.client(), self._table, self._names
        polls = 0
        with self._cli.out.progress(f"Loading {table}", total=len(names), unit="segments") as progress:

            def missing() -> str | None:
                nonlocal polls
                polls += 1
                now = self._transitions()
                faults: list[object] = [
                    f"{server} has not dropped {name} yet"
                    for (name, server), before in self._before.items()
                    if now.get((name, server)) == before
                ]
                unloaded = client.segments.unloaded(table, names)
                progress.update(done=len(names) - len({fault.segment for fault in unloaded}))
                if unloaded and polls % _WAKE_EVERY_POLLS == 0:
                    # Otherwise a segment that leaves ERROR stays OFFLINE until something else changes.
                    with suppress(NotFoundError):
                        wake_helix(self._cli.property_store(), table)
                faults += unloaded
                return f"not loaded yet: {first_few(faults)}" if faults else None

            wait_until(
                missing,
                what=f"{counted_text(len(names), 'segment')} of {table} to be online",
                timeout_s=timeout_s,
                clock=client.clock,
                remedy="check in the servers' logs whether they can read the segments' download URLs",
            )

    def _transitions(self) -> Mapping[tuple[str, str], Mapping[str, str]]:
        from controller_client.helix import last_transitions

        return last_transitions(self._cli.property_store(), self._table, self._servers, self._names)
