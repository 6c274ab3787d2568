"""Row-level security (Pinot 1.4 and later), which reads from servers and segments would bypass.

Brokers enforce it: their access control adds filters for the user and the table to each query. The filters
come from the broker's configuration or from a custom class, so the cluster's state does not show them. But
each answer of a broker reports whether it filtered rows, so the check queries one row of the table with the
credentials of the read.
"""

from __future__ import annotations

from controller_client.broker.client import BrokerClient, QueryResult
from controller_client.client import ControllerClient
from controller_client.common.sql_text import quoted
from controller_client.errors import AuthError, ConfigError, NotAppliedError
from controller_client.rest.capabilities import Capability
from spark_connectors.options import ReadFrom, ReadOptions

__all__ = ["check_row_security"]

_REMEDY = (
    "set 'readFrom' to broker, or use the option 'query'; if the job may see all rows, "
    "set 'bypassRowFilters' to true"
)


def check_row_security(client: ControllerClient, options: ReadOptions, table: str) -> None:
    """Check that brokers hide no rows of a table from this user, before a read that bypasses brokers.

    Args:
        client: The controller client.
        options: The options of the read.
        table: Raw name of a table that has segments.

    Raises:
        ConfigError: A broker filters the user's rows, or no broker reports whether it does.
        QueryError: A broker rejects the query.
        AuthError: A broker rejects the credentials, or the user may not read the table.
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
            f"no broker reports whether it hides rows of {table} from this user, and 'readFrom' "
            f"{options.read_from} would read them: {error.message}",
            expected="a broker that answers",
            remedy=_REMEDY,
        ) from error
    if answer.stats.row_filters_applied:
        raise ConfigError(
            f"a broker hides rows of {table} from this user, which 'readFrom' {options.read_from} would read",
            expected="a user without row filters",
            where=answer.broker_url,
            remedy=_REMEDY,
        )
    if not answer.stats.servers_queried:
        # A broker does not report filters if they leave no segment, or if it does not know any segment yet.
        raise ConfigError(
            f"a broker answered for {table} without querying a server, so it does not report whether "
            "it hides rows from this user",
            expected="an answer from servers",
            where=answer.broker_url,
            remedy=f"read again once brokers serve the table's segments; otherwise {_REMEDY}",
        )


def _one_row(client: ControllerClient, options: ReadOptions, table: str) -> QueryResult:
    broker_urls = () if options.brokers else tuple(client.cluster.broker_urls())
    if not (broker_urls or options.brokers):
        raise NotAppliedError("no broker is online")
    # A query with literals only is answered before access control is applied.
    sql = f"SELECT $docId FROM {quoted(table)} LIMIT 1"  # noqa: S608 - the name is quoted
    with BrokerClient(options.broker_config(broker_urls)) as broker:
        return broker.query(
            sql,
            options=dict(options.query_options),
            timeout_s=options.server_timeout_ms / 1000,
            allow_partial=True,
        )
