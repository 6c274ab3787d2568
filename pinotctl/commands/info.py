"""Show the cluster's addresses, what its version supports, and which features of this project work on it."""

from __future__ import annotations

import click

from pinotctl.context import CliContext, pass_cli
from pinotctl.options import output_option

__all__ = ["info"]


@click.command(help=__doc__)
@output_option()
@pass_cli
def info(cli: CliContext) -> None:  # noqa: D103  # help is the module's docstring
    from controller_client.rest.capabilities import Capability
    from pinotctl.features import features_of, partial_answers, read_servers

    client = cli.client()
    version = client.cluster.version()
    capabilities = client.cluster.capabilities()
    has = {capability.name.lower(): capabilities.has(capability) for capability in Capability}
    features = features_of(capabilities, read_servers(cli.property_store), partial_answers(client))
    record = {
        "controller": client.config.url,
        "version": version.text or str(version),
        "cluster_name": client.cluster.name(),
        "deep_store": client.cluster.deep_store_uri(),
        "zookeeper": client.cluster.zookeeper_address(),
        "brokers": client.cluster.broker_urls(),
    }
    if cli.out.is_json:
        works = {name: feature.to_json() for name, feature in features.items()}
        cli.out.record({**record, "capabilities": has, "features": works})
        return
    record["brokers"] = ", ".join(client.cluster.broker_urls()) or "(none)"
    cli.out.record(
        {
            **record,
            "can": ", ".join(name for name, there in has.items() if there),
            "cannot": ", ".join(name for name, there in has.items() if not there),
        }
    )
    cli.out.line("")
    rows = [[name, *feature.to_json().values()] for name, feature in features.items()]
    cli.out.table(["feature", "works", "how"], rows)
