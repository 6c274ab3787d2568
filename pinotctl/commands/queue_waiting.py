"""``pinotctl queue waiting``: how many subtasks need a minion, once or as metrics for autoscaling."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence

import click

from controller_client.helix.unfinished_subtasks import Unfinished, unfinished_subtasks
from controller_client.monitoring import Monitoring, catalogue
from controller_client.monitoring.catalogue import QUEUE
from pinotctl.context import CliContext, pass_cli
from pinotctl.monitoring import monitoring_options, serving
from pinotctl.options import output_option
from pinotctl.signals import stop_on_signals

__all__ = ["publish_subtasks", "waiting"]


@click.command()
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only minions with this tag. Repeatable.")
@click.option("--type", "task_type", metavar="TASK_TYPE", show_default="all", help="Only this task type.")
@monitoring_options
@output_option()
@pass_cli
def waiting(
    cli: CliContext, tags: tuple[str, ...], task_type: str | None, metrics_port: int, metrics_host: str
) -> None:
    """Count the waiting and running subtasks, by the tag of the minions that they are for.

    Their sum, divided by the number of subtasks that a minion runs at once, is the number of minions that you
    need. The counts are read from ZooKeeper. A tag given with --tag is listed even if its count is 0. With
    --metrics-port the command runs until SIGTERM or Ctrl-C, and counts at each scrape of /metrics.
    """
    store = cli.property_store()

    def count() -> Mapping[str, Unfinished]:
        return _of_tags(unfinished_subtasks(store, task_type), tags)

    if not metrics_port:
        rows = [(tag, each.waiting, each.running, each.total) for tag, each in sorted(count().items())]
        cli.out.table(("tag", "waiting", "running", "unfinished"), rows)
        return
    monitoring = Monitoring(QUEUE)
    publish_subtasks(monitoring, count)
    stop = stop_on_signals(signal.SIGTERM, signal.SIGINT)
    with serving(cli.out, monitoring, metrics_host, metrics_port):
        # With a timeout, so that Python gets to handle signals.
        while not stop.event.wait(timeout=1.0):
            pass


def publish_subtasks(monitoring: Monitoring, count: Callable[[], Mapping[str, Unfinished]]) -> None:
    """Publish the waiting and running subtasks as metrics of a process.

    Args:
        monitoring: The process' metrics.
        count: Counts the subtasks by minion tag; called in a thread of the HTTP server at each scrape. If it
            fails, the response has status 500: for autoscaling, no number is better than an old one.
    """

    def values() -> dict[tuple[str, ...], float]:
        found: dict[tuple[str, ...], float] = {}
        for tag, each in count().items():
            found[tag, "waiting"], found[tag, "running"] = each.waiting, each.running
        return found

    monitoring.sample(catalogue.QUEUE_SUBTASKS, values)


def _of_tags(found: Mapping[str, Unfinished], tags: Sequence[str]) -> Mapping[str, Unfinished]:
    return {tag: found.get(tag, Unfinished()) for tag in tags} if tags else found
