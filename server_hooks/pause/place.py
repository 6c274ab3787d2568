"""Where in Pinot consumers ask whether their segment is held: one place a range of versions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from jvm_bridge.role_host import HostedServerView
from server_hooks.table_managers import have_plug_in_point

__all__ = ["Place", "take_place"]


class Place(Protocol):
    """Reaches into the data managers of consuming segments."""

    def must_stop(self, manager: Any) -> bool:
        """Whether Pinot told a consuming segment to stop."""
        ...

    def must_commit(self, manager: Any) -> bool:
        """Whether a consuming segment was told to commit."""
        ...

    def is_consuming(self, manager: Any) -> bool:
        """Whether a segment's data manager is that of a consuming segment."""
        ...


def take_place(role: HostedServerView, on_batch: Callable[[str], bool]) -> Place:
    """Stand in the consumers' way; before the first consuming segment is made.

    Args:
        role: The server, before it starts.
        on_batch: Called in a consumer's thread with that thread's name, which is its segment's; returns
            whether the segment is free: then it is not called for it any more. Must not raise.

    Raises:
        UnsupportedError: This Pinot is built otherwise.
        ConfigError: The server's configuration does not go with the hook.
        SetupError: This Java has no compiler.
    """
    if have_plug_in_point():
        from server_hooks.pause.segments_1_5 import HoldableSegments

        return HoldableSegments(role, on_batch)
    from server_hooks.pause.limiter_0_11 import ConsumerLimiters

    return ConsumerLimiters(on_batch)
