"""Row-level security (Pinot 1.4 and later), which reads from servers and from segments would by-pass.

It is the broker's: its access control has filters for a user and a table, which it adds to each query. Where
they come from is the broker's own affair (its configuration, or a class of the installation), so nothing in
the cluster's state shows them. But each answer of a broker says whether it has filtered the user's rows, so
one is asked for a row of the table, with the read's own credentials.
"""

from __future__ import annotations

from controller_client.broker.client import BrokerClient, QueryResult
from controller_client.client import ControllerClient
from controller_client.errors import AuthError, ConfigError, NotAppliedError
from controller_client.rest.capabilities import Capability
from spark_connectors.options import ReadFrom, ReadOptions
from spark_connectors.read.sql import quoted

__all__ = ["check_row_security"]

_REMEDY = (
    "use 'readFrom' broker, or the option 'query'; a job that may see all rows says so by 'bypassRowFilters' "
    "true"
)


def check_row_security(client: ControllerClient, options: ReadOptions, table: str) -> None:
    """Check that no broker keeps rows of a table from this user; before a read that by-passes brokers.

    Args:
        client: Of the cluster.
        options: The read's.
        table: Raw name of a table that has segments.

    Raises:
        ConfigError: A broker filters the user's rows, or none says whether it does.
        QueryError: A broker refuses the query.
        AuthError: A broker refuses the credentials, or the user may not see the table.
    """
    if options.bypass_row_filters or options.read_from is ReadFrom.BROKER:
        return
    if not client.cluster.capabilities().has(Capability.ROW_SECURITY):
        return
    try:
        answer = _one_row(client, options, table)
    except AuthError:
        raise
    except NotAppliedError as error:
        raise ConfigError(
            f"no broker says whether it keeps rows of {table} from this user, and 'readFrom' "
            f"{options.read_from} would read them: {error.message}",
            expected="a broker that answers",
            remedy=_REMEDY,
        ) from error
    if answer.stats.row_filters_applied:
        raise ConfigError(
            f"a broker keeps rows of {table} from this user, and 'readFrom' {options.read_from} would read "
            f"them",
            expected="a user without row filters",
            where=answer.broker_url,
            remedy=_REMEDY,
        )
    if not answer.stats.servers_queried:
        # It does not say whether it filters when its filters leave no segment, or when it knows of none yet.
        raise ConfigError(
            f"a broker answers for {table} without asking a server, so it does not say whether it keeps rows "
            f"from this user",
            expected="an answer from servers",
            where=answer.broker_url,
            remedy=f"read again when brokers know the table's segments; else {_REMEDY}",
        )


def _one_row(client: ControllerClient, options: ReadOptions, table: str) -> QueryResult:
    found = () if options.brokers else tuple(client.cluster.broker_urls())
    if not (found or options.brokers):
        raise NotAppliedError("no broker is online")
    # A query of literals alone is answered before the access control is asked.
    sql = f"SELECT $docId FROM {quoted(table)} LIMIT 1"  # noqa: S608 - the name is quoted
    with BrokerClient(options.broker_config(found)) as broker:
        return broker.query(
            sql,
            options=dict(options.query_options),
            timeout_s=options.server_timeout_ms / 1000,
            allow_partial=True,
        )
