"""What Helix keeps of an instance beside its tags: where it is, and how many subtasks it takes at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from controller_client.errors import NotFoundError
from controller_client.helix.record_at import read_records_at
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["live_controllers", "take_no_more_subtasks"]

_CONTROLLER = "Controller_"
_MAX_SUBTASKS = "MAX_CONCURRENT_TASK"
_HOST, _PORT = "HELIX_HOST", "HELIX_PORT"


def take_no_more_subtasks(store: PropertyStore, instance: str) -> None:
    """Have Helix give a minion no further subtask; those that it runs are its own until they end.

    Helix gives a minion as many as its limit, which becomes 0, is over those that it runs. Its tags stay:
    who waits for a job looks for them. A minion sets its limit anew when it starts.

    Raises:
        NotFoundError: There is no such instance.
        ConflictError: Somebody else writes the config all the time.
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: The reply was lost; write it again.
    """
    path = _path(store, instance)

    def changed(present: ZNRecord | None) -> ZNRecord:
        if present is None:
            raise NotFoundError(f"there is no instance {instance}", where=path)
        return replace(present, simple_fields={**present.simple_fields, _MAX_SUBTASKS: "0"})

    store.change_at(path, changed)


def live_controllers(store: PropertyStore) -> Sequence[tuple[str, int]]:
    """Return host and port of the controllers that are connected now, in the order of their names.

    Raises:
        DataError: The config of one holds something else.
        UnreachableError: ZooKeeper does not answer.
    """
    names = [name for name in store.live_instances() if name.startswith(_CONTROLLER)]
    records = read_records_at(store, [_path(store, name) for name in names])
    return [
        (record.simple_fields[_HOST].removeprefix(_CONTROLLER), int(record.simple_fields[_PORT]))
        for record in records
        if record and record.simple_fields.get(_HOST) and record.simple_fields.get(_PORT, "").isdigit()
    ]


def _path(store: PropertyStore, instance: str) -> str:
    return f"/{store.cluster_name}/CONFIGS/PARTICIPANT/{instance}"
