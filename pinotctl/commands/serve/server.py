"""``pinotctl serve server``: run Pinot's server with Python hooks, instead of the stock server."""

from __future__ import annotations

from jvm_bridge.role_host import SERVER
from pinotctl.commands.serve.hosting import hosting_command

__all__ = ["server"]

server = hosting_command(
    SERVER,
    help="""Run Pinot's server with Python hooks, instead of `pinot-admin.sh StartServer`.

    It accepts the same arguments (e.g. -configFileName server.conf -zkAddress localhost:2181), JAVA_OPTS and
    configuration, and it logs, answers, drains and stops like the stock server. The JVM handles signals:
    after SIGTERM the exit code is 143, after Ctrl-C 130.
    """,
)
