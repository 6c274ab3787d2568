"""Hooks of tests, which a distribution in a folder of the test registers."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path

from jvm_bridge.role_host import HostedServerView
from tests.support import installed

ENTRY_POINTS = {
    "pinot_plugins.server_hooks": {
        "raises": f"{__name__}:Raises",
        "cannot-be-made": f"{__name__}:cannot_be_made",
        "is-not-there": f"{__name__}:NoSuchName",
        "exits-java": f"{__name__}:ExitsJava",
        "table-watch": "table_watch:TableWatch",
    },
    "pinot_plugins.broker_hooks": {
        "raises-in-broker": f"{__name__}:Raises",
        "not-for-brokers": f"{__name__}:cannot_be_made",
    },
}

_DOCUMENT = Path(__file__).parents[3] / "docs" / "servers.md"


def install(folder: Path) -> None:
    """Register the hooks, and the example of the docs, for processes with the folder on their path."""
    installed.install(folder, "hooks-of-tests", ENTRY_POINTS)
    examples = re.findall(r"```python\n(.*?)```", _DOCUMENT.read_text(), re.DOTALL)
    (example,) = [text for text in examples if "class TableWatch" in text]
    (folder / "table_watch.py").write_text(example)


class Raises:
    """Fails in each call, and in a thread of its own."""

    def before_start(self, server: HostedServerView) -> None:
        threading.Thread(target=self._fail, name="thread-of-hook").start()
        raise ValueError("before the start")

    def started(self, server: HostedServerView) -> None:
        sys.exit("after the start")

    def stopping(self, server: HostedServerView) -> None:
        raise KeyError("before the stop")

    def _fail(self) -> None:
        raise ValueError("in a thread")


def cannot_be_made() -> Raises:
    raise RuntimeError("made wrongly")


class ExitsJava:
    """Ends the JVM, as Java code may do."""

    def before_start(self, server: HostedServerView) -> None:
        pass

    def started(self, server: HostedServerView) -> None:
        import jpype

        threading.Thread(target=jpype.JClass("java.lang.System").exit, args=(7,)).start()

    def stopping(self, server: HostedServerView) -> None:
        print("hook sees the stop", flush=True)  # noqa: T201  # what a hook prints is in the server's output
