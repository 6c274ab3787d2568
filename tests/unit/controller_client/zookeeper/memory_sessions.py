"""ZooKeeper's sessions and ephemeral znodes in memory: several clients of a server, on one clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NoReturn

from kazoo.exceptions import ConnectionLoss
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent

from controller_client.errors import UnreachableError
from controller_client.zookeeper import PropertyStore, ZooKeeperConnection
from tests.unit.fake_clock import FakeClock

SESSION_S = 6.0
Watcher = Callable[[Any], None]


@dataclass(eq=False)
class _Session:
    heard_s: float
    watchers: dict[str, set[Watcher]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Node:
    content: bytes
    session: _Session
    czxid: int


class Server:
    """ZooKeeper's handling of sessions: a session without heartbeats expires, and its znodes are deleted.

    Attributes:
        nodes: The znodes by path.
        deleted: Paths of the deleted znodes, in order of deletion.
        clients: The clients to notify of deleted znodes.
    """

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.nodes: dict[str, _Node] = {}
        self.deleted: list[str] = []
        self.clients: list[Client] = []
        self._zxids, self._sequence = count(1), count()

    def create(self, prefix: str, content: bytes, session: _Session) -> str:
        path = f"{prefix}{next(self._sequence):010d}"
        self.nodes[path] = _Node(content, session, next(self._zxids))
        return path

    def delete(self, path: str, untold: _Session | None = None) -> None:
        del self.nodes[path]
        self.deleted.append(path)
        event = WatchedEvent(EventType.DELETED, KeeperState.CONNECTED, path)
        for client in self.clients:
            if client.session not in (None, untold) and client.is_connected:
                for watcher in client.watchers.pop(path, set()):
                    watcher(event)

    def pass_time(self, seconds: float) -> None:
        """Advance the time, and expire sessions without heartbeats."""
        self.clock.advance(seconds)
        sessions = {id(node.session): node.session for node in self.nodes.values()}
        for session in sessions.values():
            if self.clock.monotonic() - session.heard_s >= SESSION_S:
                # Such a client is paused or disconnected, so it is not notified.
                self.end(session, untold=session)

    def end(self, session: _Session, untold: _Session | None = None) -> None:
        """End a session and delete its znodes."""
        for path in [path for path, node in self.nodes.items() if node.session is session]:
            self.delete(path, untold)
        for client in self.clients:
            if client.session is session:
                client.expired = True


class _Created:
    def __init__(self, lost: bool) -> None:
        self._lost = lost

    def get(self, timeout: float) -> None:
        assert timeout > 0
        if self._lost:
            raise ConnectionLoss


class Client(ZooKeeperConnection):
    """A process's connection.

    Attributes:
        is_connected: False: disconnected; calls fail after a while.
        answers_after_s: How long a read takes.
        loses_reply: The reply to the next write is lost.
        session: None: it has none yet, or has closed it.
        expired: ZooKeeper has ended the session, but the client does not know yet.
    """

    def __init__(self, server: Server) -> None:
        super().__init__("127.0.0.1:1", timeout_s=SESSION_S, session_timeout_s=SESSION_S)
        self.server = server
        self.is_connected = True
        self.answers_after_s = 0.0
        self.loses_reply = False
        self.expired = False
        self.session: _Session | None = None

    @property
    def watchers(self) -> dict[str, set[Watcher]]:
        return self.session.watchers if self.session is not None else {}

    def kazoo(self) -> Any:
        self._touch()
        return self

    def create_async(self, path: str, content: bytes, **how: bool) -> _Created:
        assert how == {"ephemeral": True, "sequence": True, "makepath": True}
        self.server.create(path, content, self._touch())
        lost, self.loses_reply = self.loses_reply, False
        return _Created(lost)

    def current_zxid(self) -> int:
        self._touch()
        self.server.clock.advance(self.answers_after_s)
        return 0

    def children(self, path: str) -> list[str]:
        self._touch()
        return [name.rpartition("/")[2] for name in self.server.nodes if name.startswith(f"{path}/")]

    def watch(self, path: str, changed: Watcher) -> int | None:
        self._touch().watchers.setdefault(path, set()).add(changed)
        return 0 if path in self.server.nodes else None

    def creation_order(self, path: str) -> int | None:
        self._touch()
        return self.server.nodes[path].czxid if path in self.server.nodes else None

    def get(self, path: str) -> tuple[bytes, int] | None:
        self._touch()
        return (self.server.nodes[path].content, 0) if path in self.server.nodes else None

    def close(self) -> None:
        session, self.session = self.session, None
        if session is not None:
            self._tell(session, KeeperState.CLOSED)
            if self.is_connected:
                self.server.end(session)
        self.expired = False

    def cut(self) -> None:
        self.is_connected = False
        if self.session is not None:
            self._tell(self.session, KeeperState.CONNECTING)

    def heal(self) -> None:
        self.is_connected = True

    def _tell(self, session: _Session, state: str) -> None:
        watchers = {watcher for of_path in session.watchers.values() for watcher in of_path}
        session.watchers.clear()
        for watcher in watchers:
            watcher(WatchedEvent(EventType.NONE, state, None))

    def _touch(self) -> _Session:
        if not self.is_connected:
            self._fail()
        if self.session is not None and self.expired:
            ended, self.session, self.expired = self.session, None, False
            self._tell(ended, KeeperState.EXPIRED_SESSION)
        if self.session is None:
            self.session = _Session(self.server.clock.monotonic())
        self.session.heard_s = self.server.clock.monotonic()
        return self.session

    def _fail(self) -> NoReturn:
        raise UnreachableError("ZooKeeper is away")


class MemberStore(PropertyStore):
    """The property store of a process."""

    def __init__(self, server: Server) -> None:
        super().__init__("127.0.0.1:1", "c", clock=server.clock)
        self.client = Client(server)
        self.connection = self.client
