"""The extension point where consumers ask whether they are paused: one for each range of Pinot versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from jvm_bridge.role_host import HostedServerView
from server_hooks.table_managers import has_extension_point

__all__ = ["ConsumerExtensionPoint", "SegmentConsumer", "install_extension"]


class ConsumerExtensionPoint(Protocol):
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


@dataclass(frozen=True)
class SegmentConsumer:
    """The consumer of one segment; see :class:`~server_hooks.pause.gate.Consumer`.

    It has the data manager itself, not its name: Pinot registers it after its thread has started, removes it
    before it stops the thread, and may create another one for the same segment. The manager is not acquired,
    which would prevent Pinot from stopping it: the last one to release a dropped segment destroys it.

    Attributes:
        manager: The segment's data manager.
        extension: Reads the manager.
        seal: Makes it commit if Pinot allows that in its table.
    """

    manager: Any
    extension: ConsumerExtensionPoint
    seal: Callable[[], None]

    def must_stop(self) -> bool:
        """Return whether Pinot has asked it to stop."""
        return self.extension.must_stop(self.manager)

    def must_commit(self) -> bool:
        """Return whether it was asked to commit."""
        return self.extension.must_commit(self.manager)

    def force_commit(self) -> None:
        """Make it commit."""
        self.manager.forceCommit()


def install_extension(role: HostedServerView, on_start: Callable[[Any], None]) -> ConsumerExtensionPoint:
    """Make consumers ask before they consume; call it before the first consuming segment is created.

    Args:
        role: The server, before it starts.
        on_start: Called once for each consuming segment, in its consumer's thread before the first fetch,
            with the segment's data manager. The consumer continues when it returns. Must not raise.

    Raises:
        UnsupportedError: The hook does not support this version of Pinot.
        ConfigError: The server's configuration conflicts with the hook.
        SetupError: This Java has no compiler.
    """
    if has_extension_point():
        from server_hooks.pause.segments_1_4 import PausableSegments

        return PausableSegments(role, on_start)
    from server_hooks.pause.consumers_0_11 import PatchedConsumers

    return PatchedConsumers(on_start)
