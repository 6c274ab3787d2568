"""A session with ZooKeeper: a kazoo client that is started at the first call, and replaced when it hangs."""

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
"""After this time without a sign of life ZooKeeper ends a session, where nothing else is asked for."""

_CLOSE_LIMIT_S = 2.0
_LONGEST_PAUSE_S = 2.0
"""Between two attempts to connect."""
_POLL_S = 0.05
_LEAST_WAIT_S = 0.1

_SILENT = (
    "it takes connections, but does not answer; TLS, or none, may be what it wants (PINOT_ZOOKEEPER_TLS)"
)
_ENDED = frozenset({KeeperState.AUTH_FAILED, KeeperState.CLOSED})

_logger = logging.getLogger(__name__)


class KazooSession:
    """A session, and a new one after its end. Safe to be used from several threads.

    A deadline is a time of the clock; each call has one.

    Args:
        address: Of ZooKeeper.
        client: An unstarted or started KazooClient to use instead of an own one.
        timeout_s: How long one call may take, connecting included.
        clock: Time and sleep.
        access: How to come in; default: as the environment says.
        session_timeout_s: After so long without a sign of life ZooKeeper ends the session; default:
            :data:`SESSION_TIMEOUT_S`.

    Attributes:
        session_timeout_s: As ZooKeeper has granted it, between its own bounds (2 and 20 of its ticks); as
            asked for before there was a connection.
        incarnation: How many clients were given up before the present one.
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
        self._asked_timeout_s = session_timeout_s or SESSION_TIMEOUT_S
        self.session_timeout_s = self._asked_timeout_s
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
        """Return the client when it is connected.

        Raises:
            UnreachableError: It is not, by the deadline.
            AuthError: ZooKeeper does not believe who this client is.
        """
        while True:
            kazoo = self._live_client(deadline)
            if kazoo.state == KazooState.CONNECTED:
                return kazoo
            if self._clock.monotonic() >= deadline:
                raise self.unreachable(f"is away (connection {kazoo.state})")
            self._clock.sleep(_POLL_S)

    def abandon(self) -> None:
        """Give the present client up: what it was given to send is not sent any more."""
        with self._start_mutex:
            self._end()

    def close(self) -> None:
        """End the session.

        Where ZooKeeper hangs, kazoo would wait for it; that goes on in the background then.
        """
        with self._start_mutex:
            ending = self._end()
        ending.join(_CLOSE_LIMIT_S)

    def deadline(self) -> float:
        """Return that of a call that begins now."""
        return self._clock.monotonic() + self._timeout_s

    def left_s(self, deadline: float) -> float:
        """Return how long a call may still wait."""
        return max(0.0, deadline - self._clock.monotonic())

    def check_deadline(self, path: str, deadline: float, error: Exception) -> None:
        """Return if a call that failed may be made again.

        Raises:
            UnreachableError: Its deadline has passed.
        """
        if self._clock.monotonic() >= deadline:
            raise self.unreachable(f"did not answer for {path} ({type(error).__name__})") from error

    def unreachable(self, what: str) -> UnreachableError:
        """Make the error for a ZooKeeper that does not do what it should, but ``what``."""
        return unreachable(self._address, what, self._timeout_s)

    def _live_client(self, deadline: float) -> Any:
        with self._start_mutex:
            if self._started and self._kazoo.client_state in _ENDED:
                # kazoo gives up for good when a new connection is refused; for SASL, also when it is cut in
                # the middle of it, or when a ticket of Kerberos has run out meanwhile.
                _logger.warning("ZooKeeper %s has refused a new connection; it is tried again", self._address)
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
        """Wait for a first answer: kazoo counts as connected before it has shown who it is."""
        try:
            self._kazoo.sync_async("/").get(timeout=max(_LEAST_WAIT_S, self.left_s(deadline)))
        except (AuthFailedError, ConnectionClosedError, SessionExpiredError) as error:
            raise self.not_accepted() from error
        except ConnectionLoss as error:
            if self._kazoo.client_state in _ENDED:
                raise self.not_accepted() from error
            # A cut, after which kazoo connects again.
        except KazooTimeoutError as error:
            # kazoo drops a request that arrives at the moment of the refusal.
            if self._kazoo.client_state in _ENDED:
                raise self.not_accepted() from error
            raise self.unreachable("did not answer") from error

    def not_accepted(self) -> AuthError:
        """Make the error for a ZooKeeper that does not believe who this client is."""
        user = self._access.username
        return AuthError(
            f"ZooKeeper does not accept {f'the user {user}' if user else 'this client'}",
            where=self._address,
            expected="a user and a password, or a ticket of Kerberos, that it knows",
        )

    def _unreachable_at_all(self) -> UnreachableError:
        reason = why_unreachable(self._address, self._access.tls) or _SILENT
        return self.unreachable(f"cannot be reached ({reason})")

    def _make_client(self) -> KazooClient:
        # By itself kazoo tries again after a minute when ZooKeeper was away for one.
        retry = {"max_tries": -1, "max_delay": _LONGEST_PAUSE_S}
        client = KazooClient(
            hosts=self._address,
            timeout=self._asked_timeout_s,
            connection_retry=retry,
            **client_options(self._access),
        )
        _on_granted(client, self._granted)
        return client

    def _granted(self, timeout_s: float) -> None:
        """Called in kazoo's thread, at each connection."""
        if timeout_s != self.session_timeout_s:
            _logger.info("ZooKeeper %s keeps this session for %g s", self._address, timeout_s)
        self.session_timeout_s = timeout_s

    def _end(self) -> threading.Thread:
        """Give the present client up and let a new one begin at the next call; the caller has the mutex."""
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
    """Have a function called with the seconds for which ZooKeeper keeps the session."""
    connection = kazoo._connection  # noqa: SLF001  # kazoo logs it, and keeps it nowhere
    invoke = connection._invoke  # noqa: SLF001

    def noting(timeout_s: float, request: Any, xid: int | None = None) -> Any:
        answer = invoke(timeout_s, request, xid)
        if isinstance(request, Connect) and answer[0].time_out > 0:  # not of a session that has ended
            granted(answer[0].time_out / 1000)
        return answer

    connection._invoke = noting  # noqa: SLF001


def _stop(kazoo: Any) -> None:
    """Runs in a thread of its own: kazoo waits for a hanging server here."""
    kazoo.stop()
    kazoo.close()
