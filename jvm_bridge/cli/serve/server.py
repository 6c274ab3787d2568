"""``pinotctl serve server``: run Pinot's server with Python hooks, in the place of the stock one."""

from __future__ import annotations

from jvm_bridge.cli.serve.hosting import hosting_command
from jvm_bridge.role_host import SERVER

__all__ = ["server"]

server = hosting_command(
    SERVER,
    help="""Run Pinot's server with Python hooks, in the place of `pinot-admin.sh StartServer`.

    It takes the same arguments (e.g. -configFileName server.conf -zkAddress localhost:2181), JAVA_OPTS and
    configuration; it logs, answers, drains and ends as the stock server does. Signals are the JVM's: after
    SIGTERM the exit code is 143, after Ctrl-C 130.
    """,
)
