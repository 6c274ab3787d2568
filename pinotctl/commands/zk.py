"""Read what Helix and Pinot store in ZooKeeper."""

from __future__ import annotations

import click

from controller_client.errors import NotFoundError
from controller_client.zookeeper import PropertyStore, ZNRecord
from pinotctl.context import CliContext, pass_cli
from pinotctl.lazy import CommandGroup
from pinotctl.options import output_option

__all__ = ["zk"]


@click.group(help=__doc__, cls=CommandGroup)
def zk() -> None:  # noqa: D103  # help is the module's docstring
    pass


@zk.command()
@click.argument("path")
@output_option()
@pass_cli
def get(cli: CliContext, path: str) -> None:
    """Show the record at a path below the cluster's root, such as /CONFIGS/CLUSTER."""
    store = cli.property_store()
    absolute = _absolute(store, path)
    found = store.connection.get(absolute)
    if found is None:
        raise NotFoundError("there is no such znode", where=f"{absolute} in {store.zookeeper_address}")
    content, version = found
    # Folders have no content; every other znode of Helix and Pinot is a record.
    record = ZNRecord.from_bytes(content, where=absolute) if content else ZNRecord("")
    if cli.out.is_json:
        document = {
            "id": record.id,
            "simpleFields": record.simple_fields,
            "mapFields": record.map_fields,
            "listFields": record.list_fields,
        }
        cli.out.record({"path": absolute, "version": version, "record": document if content else None})
        return
    kinds = (("simple", record.simple_fields), ("list", record.list_fields), ("map", record.map_fields))
    rows = [(kind, key, value) for kind, fields in kinds for key, value in fields.items()]
    cli.out.table(("kind", "key", "value"), rows)
    cli.out.note(f"{absolute}: {f'record {record.id}' if content else 'no content'}, version {version}")


@zk.command()
@click.argument("path", default="/")
@output_option()
@pass_cli
def children(cli: CliContext, path: str) -> None:
    """List the children of a path below the cluster's root, such as /LIVEINSTANCES."""
    store = cli.property_store()
    absolute = _absolute(store, path)
    names = store.connection.children(absolute)
    if names is None:
        raise NotFoundError("there is no such znode", where=f"{absolute} in {store.zookeeper_address}")
    cli.out.table(("name",), [(name,) for name in names])


def _absolute(store: PropertyStore, path: str) -> str:
    parts = [part for part in path.split("/") if part]
    return "/".join(["", store.cluster_name, *parts])
