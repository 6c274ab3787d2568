"""Hooks that Python-hosted roles run without because the hooks failed there.

::

    /<cluster>/PINOT_PLUGINS/failed_hooks/<instance>
        simpleFields.format     version of the record
        simpleFields.session    the Helix session of the role that wrote it
        mapFields.hooks.<hook>  why

A record counts while the instance's live record has the same session. A role starts without a hook only if
nothing depends on it; code that would create such a dependency checks here and refuses.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller_client.common.formats import Format
from controller_client.helix.instance_config import live_session
from controller_client.helix.record_at import read_record_at, write_own_record
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["FAILED_HOOKS_FORMAT", "read_failed_hooks", "write_failed_hooks"]

FAILED_HOOKS_FORMAT = Format("the record of hooks that a role runs without")

_SESSION, _HOOKS = "session", "hooks"


def write_failed_hooks(store: PropertyStore, instance: str, reasons: Mapping[str, str]) -> None:
    """Write which hooks a role runs without; the live role is the only writer.

    Args:
        store: The cluster's property store.
        instance: The role's name in Helix.
        reasons: Reason by hook.

    Raises:
        UnreachableError: ZooKeeper does not answer.
        OutcomeUnknownError: The reply was lost; write it again.
    """
    session = live_session(store, instance) or ""
    record = ZNRecord(
        instance,
        simple_fields=FAILED_HOOKS_FORMAT.stamp({_SESSION: session}),
        map_fields={_HOOKS: dict(reasons)},
    )
    write_own_record(store, f"{_folder(store)}/{instance}", record)


def read_failed_hooks(store: PropertyStore) -> dict[str, Mapping[str, str]]:
    """Return, for live roles, the reasons by hook, by instance.

    Raises:
        FormatVersionError: A live role, and so its record, is of a later release.
        UnreachableError: ZooKeeper does not answer.
    """
    reasons: dict[str, Mapping[str, str]] = {}
    for instance in store.connection.children(_folder(store)) or ():
        path = f"{_folder(store)}/{instance}"
        record = read_record_at(store, path)
        if record and record.simple_fields.get(_SESSION) == live_session(store, instance):
            FAILED_HOOKS_FORMAT.check(record.simple_fields, path)
            reasons[instance] = record.map_fields.get(_HOOKS, {})
    return reasons


def _folder(store: PropertyStore) -> str:
    return f"/{store.cluster_name}/PINOT_PLUGINS/failed_hooks"
