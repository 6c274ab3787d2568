"""A result stored by the broker and fetched page by page."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from controller_client.broker.reply import read_reply, result_of
from controller_client.broker.result import QueryResult
from controller_client.common.closing import Closing
from controller_client.errors import NotFoundError, PinotPluginError, UnsupportedError
from controller_client.rest.capabilities import SINCE, Capability
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport

__all__ = ["Cursor"]

logger = logging.getLogger(__name__)


class Cursor(Closing):
    """Pages of a result; iterating yields each page once, in order.

    A context manager: at its end the result is deleted from the broker, which would otherwise keep it for an
    hour (``pinot.broker.cursor.response.store.expiration``).

    Args:
        document: The broker's response, with the first page.
        first: That page; None if it must not be returned.
        transport: Transport to the broker.
        rows_per_page: Number of rows per page.

    Attributes:
        total_rows: Number of rows of the whole result.

    Raises:
        UnsupportedError: The broker does not support cursors.
    """

    def __init__(
        self, document: Mapping[str, Any], first: QueryResult | None, transport: Transport, rows_per_page: int
    ) -> None:
        if "expirationTimeMs" not in document:
            raise UnsupportedError(
                f"the broker lacks {Capability.CURSORS.value}",
                expected=f"Pinot {SINCE[Capability.CURSORS]} or later",
                where=transport.base_url,
                remedy="fetch the whole result with query()",
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
        """Return the next page; None after the last one, when the result is deleted.

        Raises:
            NotFoundError: The broker no longer has the result.
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
        """Delete the result from the broker; a failure is not an error, because the result expires anyway."""
        if not self._is_kept:
            return
        self._is_kept = False
        try:
            # Deleting twice changes nothing.
            self._transport.request("DELETE", f"{self._path}/", read_only=True)
        except NotFoundError:
            pass
        except PinotPluginError as error:
            logger.warning("a result will stay on the broker until it expires: %s", error.message)

    def _fetch(self) -> QueryResult:
        wanted = {"offset": str(self._offset), "numRows": str(self._rows_per_page)}
        try:
            response = self._transport.request("GET", f"{self._path}/results", params=wanted)
        except NotFoundError as error:
            raise NotFoundError(
                f"the broker no longer has the result, of which {self._offset} rows were fetched: it expired"
                " or was deleted",
                where=self._transport.base_url,
                remedy="run the query again",
                http_status=error.http_status,
            ) from error
        page = result_of(read_reply(response, self._transport), self._transport, allow_partial=True)
        if not page.cells:
            raise PinotPluginError(
                f"the broker returned no rows after row {self._offset} of {self.total_rows}",
                where=self._transport.base_url,
            )
        return page
