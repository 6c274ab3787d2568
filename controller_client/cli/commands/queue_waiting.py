"""``pinotctl queue waiting``: how many subtasks want a minion, once or as metrics to scale minions by."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence

import click

from controller_client.cli.context import CliContext, pass_cli
from controller_client.cli.monitoring import monitoring_options, serving
from controller_client.cli.options import output_option
from controller_client.cli.signals import stop_on_signals
from controller_client.helix.unfinished_subtasks import Unfinished, unfinished_subtasks
from controller_client.monitoring import Monitoring, catalogue
from controller_client.monitoring.catalogue import QUEUE

__all__ = ["publish_subtasks", "waiting"]


@click.command()
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only minions of this tag; repeatable.")
@click.option("--type", "task_type", metavar="TASK_TYPE", help="Only this type; default: all.")
@monitoring_options
@output_option()
@pass_cli
def waiting(
    cli: CliContext, tags: tuple[str, ...], task_type: str | None, metrics_port: int, metrics_host: str
) -> None:
    """Count the subtasks that wait and run, by the tag of the minions that they are for.

    Their sum, divided by the subtasks that a minion runs at once, is how many minions there should be. It is
    read from ZooKeeper. A tag that is named is there with 0 too. With --metrics-port it runs until SIGTERM or
    Ctrl-C, and counts anew at each question for /metrics.
    """
    store = cli.property_store()

    def look() -> Mapping[str, Unfinished]:
        return _of_tags(unfinished_subtasks(store, task_type), tags)

    if not metrics_port:
        rows = [(tag, each.waiting, each.running, each.total) for tag, each in sorted(look().items())]
        cli.out.table(("tag", "waiting", "running", "unfinished"), rows)
        return
    monitoring = Monitoring(QUEUE)
    publish_subtasks(monitoring, look)
    stop = stop_on_signals(signal.SIGTERM, signal.SIGINT)
    with serving(cli.out, monitoring, metrics_host, metrics_port):
        # With a time-out, so that a signal is seen.
        while not stop.event.wait(timeout=1.0):
            pass


def publish_subtasks(monitoring: Monitoring, look: Callable[[], Mapping[str, Unfinished]]) -> None:
    """Have the subtasks that wait and run among a process' metrics.

    Args:
        monitoring: Of the process.
        look: Counts, by minion tag; called in a thread of the HTTP server, at each question. What it raises
            becomes an answer with status 500: for who scales by it, no number is better than an old one.
    """

    def values() -> dict[tuple[str, ...], float]:
        found: dict[tuple[str, ...], float] = {}
        for tag, each in look().items():
            found[tag, "waiting"], found[tag, "running"] = each.waiting, each.running
        return found

    monitoring.sample(catalogue.QUEUE_SUBTASKS, values)


def _of_tags(found: Mapping[str, Unfinished], tags: Sequence[str]) -> Mapping[str, Unfinished]:
    return {tag: found.get(tag, Unfinished()) for tag in tags} if tags else found
