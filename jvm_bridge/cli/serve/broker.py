"""``pinotctl serve broker``: run Pinot's broker with Python hooks, in the place of the stock one."""

from __future__ import annotations

from jvm_bridge.cli.serve.hosting import hosting_command
from jvm_bridge.role_host import BROKER

__all__ = ["broker"]

broker = hosting_command(
    BROKER,
    help="""Run Pinot's broker with Python hooks, in the place of `pinot-admin.sh StartBroker`.

    It takes the same arguments (e.g. -configFileName broker.conf -zkAddress localhost:2181), JAVA_OPTS and
    configuration; it logs, answers and ends as the stock broker does. Signals are the JVM's: after
    SIGTERM the exit code is 143, after Ctrl-C 130. Where a hook cannot start, the broker does not: its
    answers would be wrong.
    """,
)
