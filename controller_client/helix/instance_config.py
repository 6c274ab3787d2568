"""Instances in Helix: which are connected, at which address, and their limit of concurrent subtasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from controller_client.common.parsing import whole_number
from controller_client.errors import ConfigError, NotFoundError
from controller_client.helix.record_at import read_records_at
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["live_controllers", "live_process", "live_session", "take_no_more_subtasks"]


_CONTROLLER = "Controller_"

_MAX_SUBTASKS = "MAX_CONCURRENT_TASK"

_HOST, _PORT, _TLS_PORT = "HELIX_HOST", "HELIX_PORT", "PINOT_TLS_PORT"


def take_no_more_subtasks(store: PropertyStore, instance: str) -> None:
    """Keep Helix from assigning more subtasks to a minion; it finishes its running ones.

    Helix assigns subtasks to a minion up to its limit, which is set to 0. Its tags stay, because callers
    waiting for a job check them. A minion resets its limit when it starts.

    Raises:
        NotFoundError: There is no such instance.
        ConflictError: Another client keeps writing the config.
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: The reply was lost; write it again.
    """
    path = _path(store, instance)

    def changed(present: ZNRecord | None) -> ZNRecord:
        if present is None:
            raise NotFoundError(f"the instance {instance} does not exist", where=path)
        return replace(present, simple_fields={**present.simple_fields, _MAX_SUBTASKS: "0"})

    store.change_at(path, changed)


def live_controllers(store: PropertyStore, *, with_tls: bool = False) -> Sequence[tuple[str, int]]:
    """Return host and port of the connected controllers, sorted by name.

    Args:
        store: The cluster's ZooKeeper.
        with_tls: Return the ports for https, and only the controllers that registered one.

    Raises:
        DataError: A config is not a record.
        UnreachableError: ZooKeeper does not answer.
    """
    names = [name for name in store.live_instances() if name.startswith(_CONTROLLER)]
    port = _TLS_PORT if with_tls else _PORT
    records = read_records_at(store, [_path(store, name) for name in names])
    return [
        (record.simple_fields[_HOST].removeprefix(_CONTROLLER), number)
        for record in records
        if record
        and record.simple_fields.get(_HOST)
        and (number := whole_number(record.simple_fields.get(port))) is not None
    ]


def _path(store: PropertyStore, instance: str) -> str:
    return f"/{store.cluster_name}/CONFIGS/PARTICIPANT/{instance}"


def live_session(
    store: PropertyStore, instance: str, changed: Callable[[Any], None] | None = None
) -> str | None:
    """Return the Helix session of an instance; None if it is not connected.

    Args:
        store: The cluster's property store.
        instance: Its name in Helix.
        changed: Called once, in kazoo's thread, when that changes or this client's session is lost.

    Raises:
        UnreachableError: ZooKeeper does not answer.
    """
    path = f"/{store.cluster_name}/LIVEINSTANCES/{instance}"
    found = store.connection.read(path, changed)
    if found is None or not found.content:
        return None
    return ZNRecord.from_bytes(found.content, where=path).simple_fields.get("SESSION_ID")


def live_process(store: PropertyStore, instance: str) -> str | None:
    """Return the process of an instance as Helix names it, ``pid@host``; None if it is not connected.

    It stays the same in a new session of the same process. In containers, it may also stay the same after a
    restart. It is ``?`` if the instance does not report it.

    Raises:
        ConfigError: The name is none of an instance.
        UnreachableError: ZooKeeper does not answer.
    """
    if instance in ("", ".", "..") or "/" in instance:
        raise ConfigError(f"{instance[:100]!r} is no name of an instance", expected="e.g. Server_host_8098")
    path = f"/{store.cluster_name}/LIVEINSTANCES/{instance}"
    found = store.connection.get(path)
    if found is None or not found[0]:
        return None
    return ZNRecord.from_bytes(found[0], where=path).simple_fields.get("LIVE_INSTANCE") or "?"
