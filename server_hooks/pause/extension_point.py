"""The extension point where consumers ask whether they are paused: one for each range of Pinot versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from jvm_bridge.role_host import HostedServerView
from server_hooks.table_managers import have_plug_in_point

__all__ = ["ExtensionPoint", "install_extension"]


class ExtensionPoint(Protocol):
    """Reads the state of consuming segments from their data managers."""

    def must_stop(self, manager: Any) -> bool:
        """Return whether Pinot asked a consuming segment to stop."""
        ...

    def must_commit(self, manager: Any) -> bool:
        """Return whether a consuming segment was asked to commit."""
        ...

    def is_consuming(self, manager: Any) -> bool:
        """Return whether a segment's data manager is that of a consuming segment."""
        ...


def install_extension(role: HostedServerView, on_batch: Callable[[str], bool]) -> ExtensionPoint:
    """Make consumers ask before they index; call it before the first consuming segment is created.

    Args:
        role: The server, before it starts.
        on_batch: Called in a consumer's thread with that thread's name, which is its segment's. Returns
            whether the segment is released; it is not called again for a released segment. Must not raise.

    Raises:
        UnsupportedError: The hook does not support this version of Pinot.
        ConfigError: The server's configuration conflicts with the hook.
        SetupError: This Java has no compiler.
    """
    if have_plug_in_point():
        from server_hooks.pause.segments_1_5 import PausableSegments

        return PausableSegments(role, on_batch)
    from server_hooks.pause.limiter_0_11 import ConsumerLimiters

    return ConsumerLimiters(on_batch)
