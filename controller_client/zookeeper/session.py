"""A session with ZooKeeper: a kazoo client started at the first call and replaced if it hangs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import AuthFailedError, ConnectionClosedError, ConnectionLoss, SessionExpiredError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.serialization import Connect
from kazoo.protocol.states import KazooState, KeeperState

from controller_client.clock import Clock
from controller_client.errors import AuthError, UnreachableError
from controller_client.zookeeper.client_options import client_options
from controller_client.zookeeper.faults import unreachable
from controller_client.zookeeper.probe import why_unreachable
from controller_client.zookeeper_access import ZooKeeperAccess

__all__ = ["SESSION_TIMEOUT_S", "KazooSession"]

SESSION_TIMEOUT_S = 10.0
"""Default time without a heartbeat after which ZooKeeper ends a session."""

_CLOSE_LIMIT_S = 2.0
_LONGEST_PAUSE_S = 2.0
"""Between two attempts to connect."""
_POLL_S = 0.05
_LEAST_WAIT_S = 0.1

_SILENT = "it accepts connections but does not answer; check whether it expects TLS (PINOT_ZOOKEEPER_TLS)"
_ENDED = frozenset({KeeperState.AUTH_FAILED, KeeperState.CLOSED})

_logger = logging.getLogger(__name__)


class KazooSession:
    """A session, replaced by a new one after its end. Thread-safe.

    Each call has a deadline, a time of the clock.

    Args:
        address: ZooKeeper's address.
        client: A KazooClient to use, started or not; default: a new one.
        timeout_s: Time limit of a call, including connecting.
        clock: Time and sleep.
        access: How to authenticate; default: from the environment.
        session_timeout_s: ZooKeeper ends the session after this time without a heartbeat; default:
            :data:`SESSION_TIMEOUT_S`.

    Attributes:
        session_timeout_s: The timeout granted by ZooKeeper, within its bounds (2 to 20 of its ticks); before
            the first connection, the requested one.
        incarnation: Number of clients abandoned before the current one.
    """

    def __init__(
        self,
        address: str,
        client: KazooClient | None,
        timeout_s: float,
        clock: Clock,
        access: ZooKeeperAccess | None = None,
        session_timeout_s: float | None = None,
    ) -> None:
        self._requested_timeout_s = session_timeout_s or SESSION_TIMEOUT_S
        self.session_timeout_s = self._requested_timeout_s
        self._address = address
        self._access = access or ZooKeeperAccess.from_env()
        self._timeout_s = timeout_s
        self._clock = clock
        self._given = client is not None
        self._kazoo: Any = client or self._make_client()
        self.incarnation = 0
        self._started = False
        self._start_mutex = threading.Lock()

    def connected_by(self, deadline: float) -> Any:
        """Return the client once it is connected.

        Raises:
            UnreachableError: It is not connected by the deadline.
            AuthError: ZooKeeper rejects this client's credentials.
        """
        while True:
            kazoo = self._live_client(deadline)
            if kazoo.state == KazooState.CONNECTED:
                return kazoo
            if self._clock.monotonic() >= deadline:
                raise self.unreachable(f"did not become reachable (connection {kazoo.state})")
            self._clock.sleep(_POLL_S)

    def abandon(self) -> None:
        """Abandon the current client: its pending calls will not be sent."""
        with self._start_mutex:
            self._end()

    def close(self) -> None:
        """End the session.

        If ZooKeeper hangs, kazoo waits for it, but in the background.
        """
        with self._start_mutex:
            ending = self._end()
        ending.join(_CLOSE_LIMIT_S)

    def deadline(self) -> float:
        """Return the deadline of a call that starts now."""
        return self._clock.monotonic() + self._timeout_s

    def left_s(self, deadline: float) -> float:
        """Return the remaining seconds until a deadline."""
        return max(0.0, deadline - self._clock.monotonic())

    def check_deadline(self, path: str, deadline: float, error: Exception) -> None:
        """Return if a failed call may be repeated.

        Raises:
            UnreachableError: Its deadline has passed.
        """
        if self._clock.monotonic() >= deadline:
            raise self.unreachable(f"did not answer for {path} ({type(error).__name__})") from error

    def unreachable(self, what: str) -> UnreachableError:
        """Return the error for an unresponsive ZooKeeper; ``what`` is what it did instead."""
        return unreachable(self._address, what, self._timeout_s)

    def _live_client(self, deadline: float) -> Any:
        with self._start_mutex:
            if self._started and self._kazoo.client_state in _ENDED:
                # kazoo gives up for good when a new connection is refused; with SASL also if the connection
                # breaks during the exchange or a Kerberos ticket has expired.
                _logger.warning("ZooKeeper %s refused a new connection; trying again", self._address)
                self._end()
            if not self._started:
                self._start(deadline)
            return self._kazoo

    def _start(self, deadline: float) -> None:
        try:
            if not _connect(self._kazoo, max(_LEAST_WAIT_S, self.left_s(deadline))):
                raise self._unreachable_at_all()
            if self._access.auth is not None:
                self._check_accepted(deadline)
        except BaseException:
            self._end()
            raise
        self._started = True
        _logger.debug("connected to ZooKeeper %s", self._address)

    def _check_accepted(self, deadline: float) -> None:
        """Wait for a first reply: kazoo reports a connection before it has authenticated."""
        try:
            self._kazoo.sync_async("/").get(timeout=max(_LEAST_WAIT_S, self.left_s(deadline)))
        except (AuthFailedError, ConnectionClosedError, SessionExpiredError) as error:
            raise self.not_accepted() from error
        except ConnectionLoss as error:
            if self._kazoo.client_state in _ENDED:
                raise self.not_accepted() from error
            # The connection broke; kazoo reconnects.
        except KazooTimeoutError as error:
            # kazoo drops a request that arrives at the moment of the refusal.
            if self._kazoo.client_state in _ENDED:
                raise self.not_accepted() from error
            raise self.unreachable("did not answer") from error

    def not_accepted(self) -> AuthError:
        """Return the error for a ZooKeeper that rejects this client's credentials."""
        user = self._access.username
        return AuthError(
            f"ZooKeeper does not accept {f'the user {user}' if user else 'this client'}",
            where=self._address,
            expected="a user name and a password, or a Kerberos ticket, that it knows",
        )

    def _unreachable_at_all(self) -> UnreachableError:
        reason = why_unreachable(self._address, self._access.tls) or _SILENT
        return self.unreachable(f"cannot be reached ({reason})")

    def _make_client(self) -> KazooClient:
        # By default, kazoo's retry pauses grow up to a minute.
        retry = {"max_tries": -1, "max_delay": _LONGEST_PAUSE_S}
        client = KazooClient(
            hosts=self._address,
            timeout=self._requested_timeout_s,
            connection_retry=retry,
            **client_options(self._access),
        )
        _on_granted(client, self._granted)
        return client

    def _granted(self, timeout_s: float) -> None:
        """Called in kazoo's thread, on each connection."""
        if timeout_s != self.session_timeout_s:
            _logger.info("ZooKeeper %s granted a session timeout of %g s", self._address, timeout_s)
        self.session_timeout_s = timeout_s

    def _end(self) -> threading.Thread:
        """Abandon the current client; the next call starts a new one. The caller holds the mutex."""
        old, self._started = self._kazoo, False
        self.incarnation += 1
        ending = threading.Thread(target=_stop, args=(old,), name="zookeeper-close", daemon=True)
        ending.start()
        if self._given:
            ending.join()
        else:
            self._kazoo = self._make_client()
        return ending


def _connect(kazoo: Any, timeout_s: float) -> bool:
    """Start a client and return whether it has connected, even if it is no longer connected.

    kazoo's own start stops the client on failure and then waits for a hanging server. Its event alone is not
    enough either: a refusal clears it, possibly before anybody waits for it.
    """
    connected = threading.Event()

    def note(state: KazooState) -> bool:
        if state == KazooState.CONNECTED:
            connected.set()
        return connected.is_set()  # True removes the listener

    kazoo.add_listener(note)
    return kazoo.start_async().is_set() or connected.wait(timeout_s)


def _on_granted(kazoo: Any, granted: Callable[[float], None]) -> None:
    """Register a function to be called with the granted session timeout in seconds."""
    connection = kazoo._connection  # noqa: SLF001  # kazoo logs it but does not store it
    invoke = connection._invoke  # noqa: SLF001

    def noting(timeout_s: float, request: Any, xid: int | None = None) -> Any:
        answer = invoke(timeout_s, request, xid)
        if isinstance(request, Connect) and answer[0].time_out > 0:  # not for a session that has ended
            granted(answer[0].time_out / 1000)
        return answer

    connection._invoke = noting  # noqa: SLF001


def _stop(kazoo: Any) -> None:
    """Stop a client; runs in a thread of its own, because kazoo waits for a hanging server here."""
    kazoo.stop()
    kazoo.close()
