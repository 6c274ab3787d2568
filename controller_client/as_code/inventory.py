"""What was applied, by whom, and what remains to be done: one record for each object, in ZooKeeper.

::

    /<cluster>/PROPERTYSTORE/PINOT_PLUGINS/as_code/<owner>/<kind>:<name>
        simpleFields.format    version of the record; a newer one is refused
        simpleFields.applied   the object as it was after the apply, JSON, secrets masked
        simpleFields.plan      id of the plan
        simpleFields.at_ms     epoch milliseconds
        simpleFields.by        user, host and process
        listFields.pending     what an apply has started and not finished: "reload", "brokers"

An object belongs to the owner that applied it. ``pending`` is written before the change that makes it
necessary, and removed when it is done, so that the next apply can finish one that was killed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller_client.as_code.objects import Document, ObjectRef
from controller_client.common.formats import Format, with_unknown
from controller_client.errors import DataError
from controller_client.zookeeper import PropertyStore, ZNRecord

__all__ = ["BROKERS", "INVENTORY_FORMAT", "RELOAD", "Inventory", "InventoryEntry"]

RELOAD = "reload"
"""Pending: a table's segments must be reloaded."""

BROKERS = "brokers"
"""Pending: the brokers of its tenant must be assigned to a table."""

_ROOT = "/PINOT_PLUGINS/as_code"
_KNOWN = ("format", "applied", "plan", "at_ms", "by")

INVENTORY_FORMAT = Format("the record of what was applied to an object")


@dataclass(frozen=True)
class InventoryEntry:
    """What is recorded about an object.

    Attributes:
        applied: The object after the last apply, with masked secrets; None if it was not applied.
        plan: Id of the plan.
        at_ms: When it was applied, in epoch milliseconds.
        by: Who applied it.
        pending: What remains to be done.
    """

    applied: Document | None = None
    plan: str = ""
    at_ms: int = 0
    by: str = ""
    pending: frozenset[str] = field(default_factory=frozenset)


class Inventory:
    """The records of one owner.

    Args:
        store: The cluster's property store, connected.
        owner: Name of the owner.
    """

    def __init__(self, store: PropertyStore, owner: str) -> None:
        self._store = store
        self.owner = owner
        self._folder = f"{_ROOT}/{owner}"

    def entries(self) -> dict[ObjectRef, InventoryEntry]:
        """Return all records.

        Raises:
            FormatVersionError: A later release wrote a record.
            DataError: A record cannot be read.
            UnreachableError: ZooKeeper does not answer.
        """
        names = self._store.children(self._folder)
        found = self._store.get_many([f"{self._folder}/{name}" for name in names])
        return {
            _ref(name): _entry(each.record, f"{self._folder}/{name}")
            for name, each in zip(names, found, strict=True)
            if each is not None
        }

    def others(self) -> dict[ObjectRef, str]:
        """Return the objects that other owners have applied, with the owners' names."""
        return {
            ref: owner
            for owner in self._store.children(_ROOT)
            if owner != self.owner
            for ref, entry in Inventory(self._store, owner).entries().items()
            if entry.applied is not None
        }

    def record_applied(self, ref: ObjectRef, document: Document, *, plan: str, at_ms: int, by: str) -> None:
        """Record that an object was applied.

        Args:
            ref: The object.
            document: The object as it is now, with masked secrets.
            plan: Id of the plan.
            at_ms: Now, in epoch milliseconds.
            by: Who applied it.
        """
        self._change(ref, lambda entry: replace(entry, applied=document, plan=plan, at_ms=at_ms, by=by))

    def add_pending(self, ref: ObjectRef, what: str) -> None:
        """Record what must be done, before the change that makes it necessary."""
        self._change(ref, lambda entry: replace(entry, pending=entry.pending | {what}))

    def done(self, ref: ObjectRef, what: str) -> None:
        """Record that something pending is done."""
        self._change(ref, lambda entry: replace(entry, pending=entry.pending - {what}))

    def forget(self, ref: ObjectRef) -> None:
        """Delete the record of an object that was deleted."""
        self._store.change(self._path(ref), lambda _present: None)

    def _path(self, ref: ObjectRef) -> str:
        return f"{self._folder}/{ref.kind}:{ref.name}"

    def _change(self, ref: ObjectRef, change: Callable[[InventoryEntry], InventoryEntry]) -> None:
        path = self._path(ref)

        def changed(present: ZNRecord | None) -> ZNRecord | None:
            entry = change(_entry(present, path) if present else InventoryEntry())
            if entry.applied is None and not entry.pending:
                return None
            return _record(ref, entry, present)

        self._store.change(path, changed)


def _ref(name: str) -> ObjectRef:
    return ObjectRef.from_key(name.replace(":", "/", 1))


def _entry(record: ZNRecord, where: str) -> InventoryEntry:
    fields = record.simple_fields
    INVENTORY_FORMAT.check(fields, where)
    try:
        applied: Mapping[str, Any] | None = json.loads(fields["applied"]) if "applied" in fields else None
        at_ms = int(fields.get("at_ms", "0"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"the record cannot be read: {error}", where=where) from None
    pending = frozenset(record.list_fields.get("pending", ()))
    return InventoryEntry(applied, fields.get("plan", ""), at_ms, fields.get("by", ""), pending)


def _record(ref: ObjectRef, entry: InventoryEntry, present: ZNRecord | None) -> ZNRecord:
    old = present or ZNRecord(ref.key)
    fields = INVENTORY_FORMAT.stamp({})
    if entry.applied is not None:
        applied = json.dumps(entry.applied, sort_keys=True, ensure_ascii=False)
        fields |= {"applied": applied, "plan": entry.plan, "at_ms": str(entry.at_ms), "by": entry.by}
    pending = {"pending": sorted(entry.pending)} if entry.pending else {}
    return ZNRecord(
        ref.key,
        with_unknown(fields, old.simple_fields, _KNOWN),
        with_unknown(pending, old.list_fields, ("pending",)),
        old.map_fields,
    )
