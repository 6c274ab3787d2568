"""Which cluster a deep store belongs to: what deletes from a store first reads the store's mark.

::

    <root>/.pinot-plugins-cluster.json                  format, cluster, id

The id is that of the cluster in ZooKeeper (see :mod:`controller_client.zookeeper.cluster_id`). Reading never
writes: a store gets its mark, and the cluster its id, before the first deletion. A mark is changed by nothing
but its owner's hand.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from controller_client.common.folders import scratch_folder
from controller_client.common.formats import Format
from controller_client.common.text import visible
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.listing import OpenStore
from controller_client.errors import ConflictError, DataError
from controller_client.zookeeper import PropertyStore
from controller_client.zookeeper.cluster_id import cluster_id, read_cluster_id

__all__ = ["MARK_FILE", "MARK_FORMAT", "StoreMark", "StoreOwner"]

MARK_FORMAT = Format("the mark of a deep store")
MARK_FILE = ".pinot-plugins-cluster.json"

_ID, _CLUSTER = "id", "cluster"
_LARGEST_BYTES = 10_000
_LONGEST_NAME = 200


@dataclass(frozen=True)
class StoreMark:
    """The mark of a store.

    Attributes:
        id: The id of its cluster.
        cluster: The name of that cluster, for people.
    """

    id: str
    cluster: str


class StoreOwner:
    """Compares a store's mark with the cluster, and writes it.

    Args:
        store: The cluster's property store, connected.
        layout: The deep store.
        open_store: Returns the file store for a URI.
    """

    def __init__(self, store: PropertyStore, layout: StoreLayout, open_store: OpenStore) -> None:
        self._store = store
        self._open = open_store
        self._root = layout.root
        self._uri = f"{layout.root}/{MARK_FILE}"

    def check(self) -> bool:
        """Return whether the store has this cluster's mark; False: it has none. Nothing is written.

        Raises:
            ConflictError: It has the mark of another cluster.
            DataError: The mark or the cluster's id is damaged.
            FormatVersionError: A later release wrote one of them.
            SourceError: The store cannot be read.
            UnreachableError: ZooKeeper does not answer.
        """
        mark = self.read()
        if mark is None:
            return False
        if mark.id != read_cluster_id(self._store):
            raise ConflictError(
                f"the store {visible(self._root)} has the mark of another cluster, {mark.cluster}",
                expected=f"that of {self._store.cluster_name} in ZooKeeper {self._store.zookeeper_address}",
                where=visible(self._uri),
                remedy="check the store's URI, the cluster's name and ZooKeeper's address; only if the store "
                "belongs to no other cluster (this one was set up anew), delete the file that is the mark",
            )
        return True

    def claim(self) -> None:
        """Write this cluster's mark to a store that has none.

        Raises:
            ConflictError: Another cluster has marked it at the same time.
            SourceError: The store refuses it.
            UnreachableError: ZooKeeper does not answer.
        """
        own = cluster_id(self._store)
        document = MARK_FORMAT.stamp_json({_CLUSTER: self._store.cluster_name, _ID: own})
        with scratch_folder("deep-store-mark-") as folder:
            file = folder / "mark.json"
            file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
            self._open(self._uri).upload(file, self._uri)
        if not self.check():
            raise ConflictError(
                "the mark of the store was removed as soon as it was written",
                where=visible(self._uri),
                remedy="find out what deletes it, then try again",
            )

    def read(self) -> StoreMark | None:
        """Return the store's mark, whichever cluster's it is; errors as of :meth:`check`."""
        files = self._open(self._uri)
        size_bytes = files.size_bytes(self._uri)
        if size_bytes is None:
            return None
        if size_bytes > _LARGEST_BYTES:
            raise self._damaged()
        with scratch_folder("deep-store-mark-") as folder:
            files.download(self._uri, folder / "mark.json")
            with (folder / "mark.json").open("rb") as file:
                data = file.read(_LARGEST_BYTES)
        try:
            document: Any = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._damaged() from error
        if not isinstance(document, dict):
            raise self._damaged()
        MARK_FORMAT.check(document, visible(self._uri))
        found, cluster = document.get(_ID), document.get(_CLUSTER)
        if not isinstance(found, str) or not found or not isinstance(cluster, str):
            raise self._damaged()
        return StoreMark(found, visible(cluster[:_LONGEST_NAME]))

    def _damaged(self) -> DataError:
        return DataError(
            "the mark that shows which cluster the store belongs to cannot be read",
            expected="the JSON object that `pinotctl deepstore sweep` writes",
            where=visible(self._uri),
            remedy="find out which cluster uses the store; if it is this one alone, delete the file",
        )
