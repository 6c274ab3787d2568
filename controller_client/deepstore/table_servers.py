"""The servers of a realtime table: those that consume, and those that segments move to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.deepstore.servers import ServerAdmins
from controller_client.errors import NotAppliedError
from controller_client.models import ServerTags, TableConfig
from controller_client.rest.client import RestClient

__all__ = ["TableServers", "table_servers"]


@dataclass(frozen=True)
class TableServers:
    """The servers of a table.

    Attributes:
        configs: Configuration of each server by name, or why it does not answer.
        consuming: Names of the servers that consume and commit.
        fewest: Number of servers with that of the tags that the fewest servers have.
    """

    configs: Mapping[str, dict[str, str] | str]
    consuming: frozenset[str]
    fewest: int


def table_servers(client: RestClient, servers: ServerAdmins, config: TableConfig) -> TableServers:
    """Read the configuration of each server of a table.

    Raises:
        NotAppliedError: The controller does not answer.
    """
    tags = ServerTags.of(config)
    counts = Counter(dict.fromkeys((tags.consuming, *tags.others), 0))
    configs: dict[str, dict[str, str] | str] = {}
    consuming = set()
    for name in client.instances.list():
        instance = client.instances.find(name) if name.startswith("Server_") else None
        found = counts.keys() & instance.tags if instance is not None else set()
        if not found:
            continue
        counts.update(found)
        if tags.consuming in found:
            consuming.add(name)
        try:
            configs[name] = servers.config(name)
        except NotAppliedError as error:
            configs[name] = error.message
    return TableServers(configs, frozenset(consuming), min(counts.values()))
