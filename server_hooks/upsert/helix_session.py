"""This server's session with ZooKeeper, read from Helix in this process without a request."""

from __future__ import annotations

from typing import Any

import jpype

__all__ = ["HelixSession"]

_STARTER = "org.apache.pinot.server.starter.helix.BaseServerStarter"
_MANAGER = "_helixManager"


class HelixSession:
    """Returns the current session of the server; thread-safe.

    It is the session in the server's znode below LIVEINSTANCES, if there is one: Helix creates that znode in
    each new session. A record with another session is from an earlier one.

    Args:
        starter: Pinot's starter of the server.
    """

    def __init__(self, starter: Any) -> None:
        self._starter = starter
        self._manager: Any = None

    def current(self) -> str | None:
        """Return the session's id, or None while the server is not connected.

        Raises:
            LookupError: Pinot's starter has no Helix manager where it is expected.
        """
        if self._manager is None:
            self._manager = self._found()
        try:
            connected = self._manager is not None and bool(self._manager.isConnected())
            return str(self._manager.getSessionId()) if connected else None
        except jpype.JClass("org.apache.helix.HelixException"):
            return None  # it has just been disconnected

    def _found(self) -> Any:
        try:
            field = jpype.JClass(_STARTER).class_.getDeclaredField(_MANAGER)
        except jpype.JClass("java.lang.NoSuchFieldException") as error:
            raise LookupError(f"{_STARTER} has no field {_MANAGER}") from error
        field.setAccessible(True)
        return field.get(self._starter)
