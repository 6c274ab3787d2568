"""The id by which a cluster recognizes what is its own in a store that it may share with others.

::

    /<cluster>/PROPERTYSTORE/PINOT_PLUGINS/deep_store   simpleFields: format, id

It is random, and never changes. A copy of a whole ZooKeeper has the same id.
"""

from __future__ import annotations

import re
import uuid
from contextlib import suppress

from controller_client.common.formats import Format
from controller_client.errors import ConflictError, DataError
from controller_client.zookeeper.property_store import PropertyStore
from controller_client.zookeeper.record import ZNRecord

__all__ = ["ID_FORMAT", "cluster_id", "create_cluster_id", "read_cluster_id"]

ID_FORMAT = Format("the id of a cluster")

_ID_PATH = "/PINOT_PLUGINS/deep_store"
_ID = "id"
_FORM = re.compile(r"[0-9a-f]{32}")


def cluster_id(store: PropertyStore) -> str:
    """Return the id of a cluster, which gets one if it has none; errors as of the other functions."""
    return read_cluster_id(store) or create_cluster_id(store, uuid.uuid4().hex)


def read_cluster_id(store: PropertyStore) -> str | None:
    """Return the id of a cluster, 32 hexadecimal digits; None if it has none yet.

    Raises:
        DataError: The record has no id, or a damaged one.
        FormatVersionError: A later release wrote it.
        UnreachableError: ZooKeeper does not answer.
    """
    znode = store.get(_ID_PATH)
    if znode is None:
        return None
    ID_FORMAT.check(znode.record.simple_fields, _ID_PATH)
    own = znode.record.simple_fields.get(_ID, "")
    if not _FORM.fullmatch(own):  # it becomes part of paths
        raise DataError(
            "the record has no valid id of the cluster",
            expected="32 hexadecimal digits",
            where=_ID_PATH,
            remedy="delete it and the mark of the deep store",
        )
    return own


def create_cluster_id(store: PropertyStore, new: str) -> str:
    """Give a cluster its id; returns the one that it has, which another process may have created.

    Raises:
        ConflictError: It was deleted as soon as it was created.
        UnreachableError: ZooKeeper does not answer.
    """
    with suppress(ConflictError):  # another process has created it at the same time
        store.create(_ID_PATH, ZNRecord("deep_store", simple_fields=ID_FORMAT.stamp({_ID: new})))
    own = read_cluster_id(store)
    if own is None:
        raise ConflictError("the cluster's id was deleted at once", where=_ID_PATH, remedy="try again")
    return own
