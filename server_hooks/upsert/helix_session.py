"""This server's session with ZooKeeper, as Helix has it in this process: nobody has to be asked."""

from __future__ import annotations

from typing import Any

import jpype

__all__ = ["HelixSession"]

_STARTER = "org.apache.pinot.server.starter.helix.BaseServerStarter"
_MANAGER = "_helixManager"


class HelixSession:
    """Tells the session of the server now; for any thread.

    It is that of the znode below LIVEINSTANCES, where there is one: Helix makes that in each new session. A
    record with another one is of an earlier session.

    Args:
        starter: Pinot's starter of the server.
    """

    def __init__(self, starter: Any) -> None:
        self._starter = starter
        self._manager: Any = None

    def current(self) -> str | None:
        """Return the session's id; None while the server is not connected.

        Raises:
            LookupError: Helix is not where Pinot has it.
        """
        if self._manager is None:
            self._manager = self._found()
        try:
            connected = self._manager is not None and bool(self._manager.isConnected())
            return str(self._manager.getSessionId()) if connected else None
        except jpype.JClass("org.apache.helix.HelixException"):
            return None  # it was disconnected just now

    def _found(self) -> Any:
        try:
            field = jpype.JClass(_STARTER).class_.getDeclaredField(_MANAGER)
        except jpype.JClass("java.lang.NoSuchFieldException") as error:
            raise LookupError(f"{_STARTER} has no {_MANAGER}") from error
        field.setAccessible(True)
        return field.get(self._starter)
