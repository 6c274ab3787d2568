"""The commands of ``pinotctl``, in one module or folder each; the tables below list them.

Each has ``module:attribute [extra that brings the dependencies]`` of a command, by its name. The help line of
a command is the first line of its module's docstring. The commands of a group are in the group's own module,
but for those that need more than it.
"""

from collections.abc import Mapping

__all__ = ["COMMANDS", "SEGMENT_COMMANDS", "SERVE_COMMANDS", "UPSERT_COMMANDS"]

COMMANDS: Mapping[str, str] = {
    "apply": "pinotctl.commands.as_code.apply:apply",
    "cluster": "pinotctl.commands.cluster:cluster [jvm]",
    "config": "pinotctl.commands.config:config",
    "consumption": "pinotctl.commands.consumption:consumption",
    "deepstore": "pinotctl.commands.deepstore:deepstore",
    "diff": "pinotctl.commands.as_code.diff:diff",
    "drift": "pinotctl.commands.as_code.drift:drift",
    "export": "pinotctl.commands.as_code.export:export",
    "info": "pinotctl.commands.info:info",
    "instance": "pinotctl.commands.instance:instance",
    "jars": "pinotctl.commands.jars:jars [jvm]",
    "leases": "pinotctl.commands.leases:leases",
    "lineage": "pinotctl.commands.lineage:lineage",
    "load": "pinotctl.commands.load:load [minion]",
    "monitoring": "pinotctl.commands.monitoring:monitoring",
    "queries": "pinotctl.commands.queries:queries",
    "query": "pinotctl.commands.query:query",
    "queue": "pinotctl.commands.queue:queue",
    "scheduler": "pinotctl.commands.scheduler:scheduler [minion]",
    "schema": "pinotctl.commands.schema:schema",
    "segment": "pinotctl.commands.segment:segment",
    "serve": "pinotctl.commands.serve:serve",
    "table": "pinotctl.commands.table:table",
    "task": "pinotctl.commands.task:task [minion]",
    "tenant": "pinotctl.commands.tenant:tenant",
    "upsert": "pinotctl.commands.upsert:upsert [upsert]",
    "user": "pinotctl.commands.user:user",
    "zk": "pinotctl.commands.zk:zk",
}
SEGMENT_COMMANDS: Mapping[str, str] = {
    "fetch": "pinotctl.commands.segment_fetch:fetch",
}

SERVE_COMMANDS: Mapping[str, str] = {
    "broker": "pinotctl.commands.serve.broker:broker [server]",
    "minion": "pinotctl.commands.serve.minion:minion [minion]",
    "server": "pinotctl.commands.serve.server:server [server]",
}

UPSERT_COMMANDS: Mapping[str, str] = {
    "coordinate": "pinotctl.commands.upsert_coordinate:coordinate [coordinator]",
    "rebuild": "pinotctl.commands.upsert_rebuild:rebuild [coordinator]",
}
