"""A TCP proxy before a real ZooKeeper that loses replies or requests, or is away: for what a network does."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from dataclasses import dataclass
from enum import Enum
from types import TracebackType
from typing import Self


class Operation(Enum):
    """ZooKeeper's numbers of the requests (org.apache.zookeeper.ZooDefs.OpCode)."""

    CREATE = 1
    DELETE = 2
    EXISTS = 3
    GET_DATA = 4
    SET_DATA = 5


@dataclass
class _Fault:
    operation: Operation
    request_arrives: bool


@dataclass
class _Link:
    client: socket.socket
    server: socket.socket
    unheard_xid: int | None = None

    def close(self) -> None:
        for end in (self.client, self.server):
            # shutdown first: close alone does not wake the other thread that reads from it.
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class ZooKeeperProxy:
    """Forwards connections to a ZooKeeper server.

    Args:
        target: ``host:port`` of the server.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._mutex = threading.Lock()
        self._fault: _Fault | None = None
        self._away = False
        self._running = threading.Event()
        self._running.set()
        self._links: list[_Link] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._cut()
        for thread in self._threads:
            thread.join(5)

    def lose_reply(self, operation: Operation) -> None:
        """The next such request is applied, but the connection breaks before its reply arrives."""
        self._fault = _Fault(operation, request_arrives=True)

    def lose_request(self, operation: Operation) -> None:
        """The connection breaks before the next such request arrives at the server."""
        self._fault = _Fault(operation, request_arrives=False)

    def stay_away_after_fault(self) -> None:
        """Refuse new connections from now on; the present ones live until the fault happens."""
        self._away = True

    @property
    def fault_pending(self) -> bool:
        """Whether the requested fault has not happened yet."""
        return self._fault is not None

    def freeze(self) -> None:
        """Hold every request back, with all connections open: a server that hangs."""
        self._running.clear()

    def thaw(self) -> None:
        """Pass on what was held back."""
        self._running.set()

    def go_away(self) -> None:
        """Break all connections and refuse new ones."""
        self._away = True
        self._cut()

    def come_back(self) -> None:
        """Accept connections again."""
        self._away = False

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._away:
                    client.close()
                    continue
                link = _Link(client, socket.create_connection(self._target))
                with self._mutex:
                    self._links.append(link)
                for run in (self._requests, self._replies):
                    thread = threading.Thread(target=run, args=(link,), daemon=True)
                    self._threads.append(thread)
                    thread.start()

    def _requests(self, link: _Link) -> None:
        with contextlib.suppress(OSError):
            while frame := _frame(link.client):
                fault = self._fault
                # Frame: length, xid, type, ...; the first one of a connection is longer and has another form.
                if fault and _number(frame, 8) == fault.operation.value:
                    self._fault = None
                    if not fault.request_arrives:
                        break
                    link.unheard_xid = _number(frame, 4)
                self._running.wait()
                link.server.sendall(frame)
        link.close()

    def _replies(self, link: _Link) -> None:
        with contextlib.suppress(OSError):
            while frame := _frame(link.server):
                # The reply has come, so the server has applied the request.
                if link.unheard_xid is not None and _number(frame, 4) == link.unheard_xid:
                    break
                link.client.sendall(frame)
        link.close()

    def _cut(self) -> None:
        with self._mutex:
            links, self._links = self._links, []
        for link in links:
            link.close()


def _frame(end: socket.socket) -> bytes:
    """One length-prefixed frame of ZooKeeper's protocol, or nothing at the end of the connection."""
    head = _exactly(end, 4)
    return head + _exactly(end, _number(head, 0)) if head else b""


def _exactly(end: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = end.recv(size - len(data))
        if not part:
            return b""
        data += part
    return data


def _number(frame: bytes, offset: int) -> int:
    return int(struct.unpack_from(">i", frame, offset)[0])
