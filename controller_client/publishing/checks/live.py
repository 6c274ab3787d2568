"""The values that a table serves now, asked of its brokers."""

from __future__ import annotations

import logging
from functools import cached_property

from controller_client.broker import BrokerClient
from controller_client.common.names import TableName
from controller_client.common.sql_text import quoted
from controller_client.config import BrokerConfig
from controller_client.errors import PinotPluginError
from controller_client.rest.client import RestClient

__all__ = ["LiveValues"]

logger = logging.getLogger(__name__)


class LiveValues:
    """Counts rows of a table.

    Args:
        client: The controller; brokers are reached with its credentials and TLS settings.
        table: Name with type.
    """

    def __init__(self, client: RestClient, table: TableName) -> None:
        self._client = client
        self._table = table
        self._is_silent = False
        """Set at the first query that fails, so that the others are not waited for."""

    def rows_with_value(self, column: str, default: str) -> int | None:
        """Count the rows in which a column has another value than its default.

        Args:
            column: The column.
            default: Its default, as text.

        Returns:
            The number of rows; None if no broker answers, or not in time.
        """
        if self._is_silent:
            return None
        sql = f"select count(*) from {quoted(self._table)} where {quoted(column)} <> :default"  # noqa: S608 - names are quoted
        try:
            with BrokerClient(self._brokers, clock=self._client.clock) as broker:
                return int(broker.query(sql, params={"default": default}).scalar())
        except PinotPluginError as error:
            self._is_silent = True
            logger.warning(
                "%s: the values of column %s could not be counted, so it is not checked whether the switch"
                " empties columns: %s",
                self._table,
                column,
                error.message,
            )
            return None

    @cached_property
    def _brokers(self) -> BrokerConfig:
        return BrokerConfig.like(self._client.config, tuple(self._client.cluster.broker_urls(self._table)))
