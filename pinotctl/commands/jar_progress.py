"""A progress bar for fetching jars, shown only if there is something to fetch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from jvm_bridge.jars import Progress as JarCallback
from pinotctl.output import Output, Progress

__all__ = ["jar_progress"]


@contextmanager
def jar_progress(out: Output) -> Iterator[JarCallback]:
    """Yield a callback for :func:`jvm_bridge.jars.pinot_jars`; the bar appears at its first call."""
    with ExitStack() as stack:
        shown: list[Progress] = []

        def update(done: int, total: int) -> None:
            if not shown:
                shown.append(stack.enter_context(out.progress("fetching jars", total=total, unit="jars")))
            shown[0].update(done=done, total=total)

        yield update
