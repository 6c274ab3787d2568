"""``pinotctl serve broker``: run Pinot's broker with Python hooks, instead of the stock broker."""

from __future__ import annotations

from jvm_bridge.role_host import BROKER
from pinotctl.commands.serve.hosting import hosting_command

__all__ = ["broker"]

broker = hosting_command(
    BROKER,
    help="""Run Pinot's broker with Python hooks, instead of `pinot-admin.sh StartBroker`.

    It accepts the same arguments (e.g. -configFileName broker.conf -zkAddress localhost:2181), JAVA_OPTS and
    configuration, and it logs, answers and stops like the stock broker. The JVM handles signals: after
    SIGTERM the exit code is 143, after Ctrl-C 130. If a hook cannot start, the broker does not start, because
    its answers would be wrong.
    """,
)
