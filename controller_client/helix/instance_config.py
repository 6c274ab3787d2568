"""Helix's config of an instance apart from its tags: its address and its limit of concurrent subtasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller_client.common.parsing import whole_number
from controller_client.errors import NotFoundError
from controller_client.helix.record_at import read_records_at
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["live_controllers", "take_no_more_subtasks"]

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
