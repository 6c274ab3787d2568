"""``pinotctl queue waiting``: how many subtasks want a minion, once or as metrics to scale minions by."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence

import click

from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.options import output_option
from controller_client.cli.signals import stop_on_signals
from controller_client.helix.unfinished_subtasks import Unfinished, unfinished_subtasks

__all__ = ["waiting"]


@click.command()
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only minions of this tag; repeatable.")
@click.option("--type", "task_type", metavar="TASK_TYPE", help="Only this type; default: all.")
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    help="Run until SIGTERM, and answer with them as Prometheus metrics at /metrics on this port.",
)
@click.option(
    "--metrics-host",
    default="127.0.0.1",
    show_default=True,
    help="Address that the metrics server listens on.",
)
@output_option()
@pass_cli
def waiting(
    cli: CliContext, tags: tuple[str, ...], task_type: str | None, metrics_port: int | None, metrics_host: str
) -> None:
    """Count the subtasks that wait and run, by the tag of the minions that they are for.

    Their sum, divided by the subtasks that a minion runs at once, is how many minions there should be. It is
    read from ZooKeeper. A tag that is named is there with 0 too.
    """
    store = cli.property_store()

    def look() -> Mapping[str, Unfinished]:
        return _of_tags(unfinished_subtasks(store, task_type), tags)

    if metrics_port is None:
        rows = [(tag, each.waiting, each.running, each.total) for tag, each in sorted(look().items())]
        cli.out.table(("tag", "waiting", "running", "unfinished"), rows)
        return
    from controller_client.cli.commands.subtask_metrics import SubtaskMetrics
    from controller_client.deepstore.metrics import MetricsServer

    stop = stop_on_signals(signal.SIGTERM, signal.SIGINT)
    with MetricsServer(metrics_host, metrics_port, SubtaskMetrics(look)) as server:
        cli.out.note(f"metrics at http://{metrics_host}:{server.port}/metrics; stop it with Ctrl-C")
        # With a time-out, so that a signal is seen.
        while not stop.event.wait(timeout=1.0):
            pass


def _of_tags(found: Mapping[str, Unfinished], tags: Sequence[str]) -> Mapping[str, Unfinished]:
    return {tag: found.get(tag, Unfinished()) for tag in tags} if tags else found
