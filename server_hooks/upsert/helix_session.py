"""This server's session with ZooKeeper, as Helix has it in this process: nobody has to be asked."""

from __future__ import annotations

from typing import Any

import jpype

__all__ = ["helix_session"]

_STARTER = "org.apache.pinot.server.starter.helix.BaseServerStarter"
_MANAGER = "_helixManager"


def helix_session(starter: Any) -> str | None:
    """Return the session's id; None while the server is not connected.

    It is that of the znode below LIVEINSTANCES, where there is one: Helix makes that in each new
    session. A record with another one is of an earlier session.

    Args:
        starter: Pinot's starter of the server.

    Raises:
        LookupError: Its connection is not where Pinot has it.
    """
    try:
        field = jpype.JClass(_STARTER).class_.getDeclaredField(_MANAGER)
        field.setAccessible(True)
        manager = field.get(starter)
        return str(manager.getSessionId()) if manager is not None and manager.isConnected() else None
    except jpype.JClass("java.lang.NoSuchFieldException") as error:
        raise LookupError(f"{_STARTER} has no {_MANAGER}") from error
    except jpype.JClass("org.apache.helix.HelixException"):
        return None  # it was disconnected just now
