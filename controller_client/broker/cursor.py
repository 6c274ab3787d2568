"""A result that stays with the broker, and is fetched page by page."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from controller_client.broker.answer import parse_answer
from controller_client.broker.reply import result_of
from controller_client.broker.result import QueryResult
from controller_client.common.closing import Closing
from controller_client.errors import NotFoundError, PinotPluginError, UnsupportedError
from controller_client.rest.capabilities import SINCE, Capability
from controller_client.rest.transport import Transport, path_of

__all__ = ["Cursor"]

logger = logging.getLogger(__name__)


class Cursor(Closing):
    """Pages of a result; iterating gives each page once, in the result's order.

    A context manager: at its end the broker is told to delete the result, which it else keeps for an hour
    (its ``pinot.broker.cursor.response.store.expiration``).

    Args:
        document: The broker's answer, with the first page.
        first: That page; None where nobody is to have it.
        transport: Of the broker.
        rows_per_page: Rows to ask for.

    Attributes:
        total_rows: Rows of the whole result.

    Raises:
        UnsupportedError: The answer is none of a broker with cursors.
    """

    def __init__(
        self, document: Mapping[str, Any], first: QueryResult | None, transport: Transport, rows_per_page: int
    ) -> None:
        if "expirationTimeMs" not in document:
            raise UnsupportedError(
                f"the broker lacks {Capability.CURSORS.value}",
                expected=f"Pinot {SINCE[Capability.CURSORS]} or later",
                where=transport.base_url,
                remedy="take the result in one piece, by query()",
            )
        self.total_rows = int(document["numRowsResultSet"])
        self._path = path_of("responseStore", str(document["requestId"]))
        self._first = first
        self._transport = transport
        self._rows_per_page = rows_per_page
        self._offset = 0
        self._is_kept = True

    def __iter__(self) -> Iterator[QueryResult]:
        while (page := self.next_page()) is not None:
            yield page

    def next_page(self) -> QueryResult | None:
        """Return the next page; None after the last, when the result is deleted too.

        Raises:
            NotFoundError: The broker does not have the result any more.
            NotAppliedError: The broker cannot be reached.
        """
        if self._first is not None:
            page, self._first = self._first, None
        elif self._is_kept and self._offset < self.total_rows:
            page = self._fetch()
        else:
            self.close()
            return None
        self._offset += len(page.cells)
        return page

    def close(self) -> None:
        """Have the broker delete the result; that it cannot is no error, as it does so in time itself."""
        if not self._is_kept:
            return
        self._is_kept = False
        try:
            # Deleting twice changes nothing.
            self._transport.request("DELETE", f"{self._path}/", read_only=True)
        except NotFoundError:
            pass
        except PinotPluginError as error:
            logger.warning("a result stays with the broker until it expires: %s", error.message)

    def _fetch(self) -> QueryResult:
        wanted = {"offset": str(self._offset), "numRows": str(self._rows_per_page)}
        try:
            response = self._transport.request("GET", f"{self._path}/results", params=wanted)
        except NotFoundError as error:
            raise NotFoundError(
                f"the broker has no more of the result than the {self._offset} rows that were fetched: it"
                " expired, or was deleted",
                where=self._transport.base_url,
                remedy="run the query again",
                http_status=error.http_status,
            ) from error
        document = self._transport.json_of(response, loads=parse_answer)
        page = result_of(document, self._transport, allow_partial=True)
        if not page.cells:
            raise PinotPluginError(
                f"the broker gave no rows from {self._offset} on of {self.total_rows}",
                where=self._transport.base_url,
            )
        return page
