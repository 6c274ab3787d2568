"""Queries for asyncio programs.

They run in threads, with the synchronous client. A separate client based on an asynchronous library would
have to reimplement the handling of statuses, broken connections and retries, and would gain little: a waiting
thread costs nothing, and the CPU-bound part, parsing a large response, would block the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from controller_client.broker.client import BrokerClient
from controller_client.broker.cursor import Cursor
from controller_client.broker.result import QueryResult
from controller_client.config import BrokerConfig

__all__ = ["AsyncBrokerClient", "AsyncCursor"]

_Result = TypeVar("_Result")


class AsyncBrokerClient:
    """Queries; an asynchronous context manager that closes its connections.

    Any number of tasks of an event loop may share it. A cancelled task gets no result; its query continues in
    its thread until the broker answers or ``timeout_s`` has passed.

    Args:
        config: How to reach the brokers; or only their base addresses, as a list or separated by commas.
        concurrency: Maximum number of queries at a time; others wait for their turn.
    """

    def __init__(self, config: BrokerConfig | Sequence[str] | str, *, concurrency: int = 8) -> None:
        self.config = BrokerConfig.at(config)
        self._threads = ThreadPoolExecutor(concurrency, thread_name_prefix="pinot-query")
        self._idle: deque[BrokerClient] = deque()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Wait for running queries, and close the connections."""
        await asyncio.to_thread(self._threads.shutdown, wait=True, cancel_futures=True)
        while self._idle:
            self._idle.pop().close()

    async def query(
        self,
        sql: str,
        *,
        params: Mapping[str, Any] | None = None,
        options: Mapping[str, str | int | bool] | None = None,
        timeout_s: float | None = None,
        allow_partial: bool = False,
    ) -> QueryResult:
        """Run a query; see :meth:`~controller_client.broker.client.BrokerClient.query`."""
        ask = partial(
            BrokerClient.query,
            sql=sql,
            params=params,
            options=options,
            timeout_s=timeout_s,
            allow_partial=allow_partial,
        )
        return await self._run(lambda: self._with_client(ask))

    def cursor(
        self,
        sql: str,
        *,
        params: Mapping[str, Any] | None = None,
        options: Mapping[str, str | int | bool] | None = None,
        rows_per_page: int = 10_000,
        timeout_s: float | None = None,
        allow_partial: bool = False,
    ) -> AsyncCursor:
        """Fetch a result page by page, as :meth:`~controller_client.broker.client.BrokerClient.cursor` does.

        Returns:
            An asynchronous context manager; entering it runs the query.
        """
        # It has its own connections, because all its pages come from one broker.
        client = BrokerClient(self.config)
        run = partial(
            client.cursor,
            sql,
            params=params,
            options=options,
            rows_per_page=rows_per_page,
            timeout_s=timeout_s,
            allow_partial=allow_partial,
        )
        return AsyncCursor(client, run, self._run)

    async def _run(self, call: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def _with_client(self, call: Callable[[BrokerClient], _Result]) -> _Result:
        """Call with a client that no other thread is using."""
        try:
            client = self._idle.pop()
        except IndexError:
            client = BrokerClient(self.config)
        try:
            return call(client)
        finally:
            self._idle.append(client)


class AsyncCursor:
    """Pages of a result: ``async with`` runs the query, ``async for`` yields the pages.

    Args:
        client: Client used only by this cursor.
        open_cursor: Runs the query.
        run: Runs a call in a thread.
    """

    def __init__(
        self,
        client: BrokerClient,
        open_cursor: Callable[[], Cursor],
        run: Callable[[Callable[[], Any]], Awaitable[Any]],
    ) -> None:
        self._client = client
        self._open = open_cursor
        self._run = run
        self._cursor: Cursor | None = None

    async def __aenter__(self) -> Self:
        try:
            self._cursor = await self._run(self._open)
        except BaseException:
            self._client.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._run(self._close)

    @property
    def total_rows(self) -> int:
        """Number of rows of the whole result."""
        return self._opened().total_rows

    async def __aiter__(self) -> AsyncIterator[QueryResult]:
        while (page := await self._run(self._opened().next_page)) is not None:
            yield page

    def _opened(self) -> Cursor:
        if self._cursor is None:
            raise RuntimeError("the cursor is used outside of its 'async with' block")
        return self._cursor

    def _close(self) -> None:
        self._opened().close()
        self._client.close()
