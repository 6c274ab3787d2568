"""The one session of a run, which all its processes use; the one that starts the run takes and ends it.

With ``--keep`` its services run on after the run, and the next run finds them, until ``./test.sh --stop``.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

import pytest

from jvm_bridge.jdk import find_java
from tests.support import images
from tests.support.chosen_pinot import described
from tests.support.jars import jars_of
from tests.support.pinot_services import PYTHON_ROLES
from tests.support.service import Program
from tests.support.session import Session, chosen_backend
from tests.support.slot import Slot, no_slot, slots

__all__ = ["SharedSession", "shared_slot"]

_SLOT = "PINOT_TEST_SLOT"
_ROOT = Path(__file__).parents[2]
_PACKAGES = (
    "controller_client",
    "jvm_bridge",
    "key_coordinator",
    "minion_tasks",
    "pinotctl",
    "server_hooks",
    "spark_connectors",
)
_SETTINGS = ("pinot_services", "kafka", "s3", "java_options", "slot")
_CODE = "code"


def shared_slot() -> Slot:
    """Return the slot of this run, in each of its processes."""
    return Slot(int(os.environ[_SLOT]))


class SharedSession:
    """The session, in the process that starts the run.

    Args:
        keep: Whether the services run on afterwards.

    Raises:
        pytest.UsageError: No slot is free, or the services that another run has kept do not fit this run.
    """

    def __init__(self, *, keep: bool) -> None:
        self._keep = keep
        self._slot, self._lock = _take_slot()
        os.environ[_SLOT] = str(self._slot.number)

    def close(self) -> None:
        """End the services, or keep them."""
        session = Session(self._slot)
        try:
            if self._slot.kept.exists() or self._keep:
                self._slot.kept.write_text(json.dumps(_facts(), indent=2), encoding="utf-8")
            else:
                session.remove_services()
        finally:
            session.close()
            self._lock.close()
            os.environ.pop(_SLOT)
        _end_abandoned()


def _end_abandoned() -> None:
    """End the clusters of processes that were killed, such as those of this run after Ctrl-C."""
    for slot in slots():
        lock = slot.lock() if slot.services.exists() else None
        if lock is None:
            continue
        with lock:
            if not slot.kept.exists():
                session = Session(slot)
                session.remove_services()
                session.close()


def _take_slot() -> tuple[Slot, IO[str]]:
    for slot in slots():
        lock = slot.lock()
        if lock is None:
            continue
        try:
            if _is_ready(slot):
                return slot, lock
        except BaseException:
            lock.close()
            raise
        lock.close()
    raise pytest.UsageError(str(no_slot()))


def _is_ready(slot: Slot) -> bool:
    """Prepare a slot: check what is kept in it, or remove what a killed run has left."""
    session = Session(slot)
    try:
        if not slot.kept.exists() or slot.is_free():  # the machine was restarted, say
            slot.kept.unlink(missing_ok=True)
            return session.clear()
        kept, now = json.loads(slot.kept.read_text(encoding="utf-8")), _facts()
        for name in now.keys() - {_CODE}:
            if kept.get(name) != now[name]:
                raise pytest.UsageError(
                    f"the kept services are those of another run: {name} was {kept.get(name)}, and is now"
                    f" {now[name]}; end them with ./test.sh --stop"
                )
        if kept.get(_CODE) != now[_CODE]:
            session.end_services(PYTHON_ROLES)  # they start again with the code of now
        return True
    finally:
        session.close()


def _facts() -> Mapping[str, str]:
    """Return what must be the same for a run that uses the services of another."""
    facts = {
        "Pinot": described(),
        "version": jars_of(Program.PINOT).version,
        "backend": chosen_backend()[0],
        "Java": find_java().version_text,
        "settings": _hash(Path(__file__).parent / f"{name}.py" for name in _SETTINGS),
        _CODE: _hash(file for package in _PACKAGES for file in (_ROOT / package).rglob("*.*")),
    }
    if facts["backend"] == "containers":
        facts["images"] = ", ".join(map(images.image_of, (Program.PINOT, Program.KAFKA, Program.S3)))
    return facts


def _hash(files: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for file in sorted(files):
        if file.suffix != ".pyc":
            digest.update(str(file).encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def _stop() -> int:
    """End the services that a run has kept."""
    ended = 0
    for slot in slots():
        if not slot.kept.exists():
            continue
        lock = slot.lock()
        if lock is None:
            sys.stderr.write(f"a run is using the kept services (slot {slot.number}): not ended\n")
            return 1
        session = Session(slot)
        session.remove_services()
        session.close()
        slot.kept.unlink()
        lock.close()
        ended += 1
    sys.stderr.write("ended the kept services\n" if ended else "no services are kept\n")
    return 0


if __name__ == "__main__":
    sys.exit(_stop())
