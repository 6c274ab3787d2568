"""Fetches a segment's tar from the store, else from a server that has it; only with the right check sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from controller_client.client import ControllerClient
from controller_client.config import BrokerConfig
from controller_client.deepstore.judge import Replica
from controller_client.deepstore.layout import StoreLayout
from controller_client.deepstore.listing import OpenStore, open_deep_store
from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.deepstore.servers import ServerAdmins
from controller_client.deepstore.tar_crc import tar_crc
from controller_client.errors import ConflictError, DataError, NotFoundError, PinotPluginError
from controller_client.transport import Transport

__all__ = ["STORE", "Fetched", "Place", "Refused", "SegmentFetcher", "fetch_first"]

STORE = "store"
"""Name of the store as a place."""


@dataclass(frozen=True)
class Refused:
    """A place that did not give the segment.

    Attributes:
        place: ``store``, or a server's name.
        reason: Why.
    """

    place: str
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True)
class Fetched:
    """A tar that was fetched.

    Attributes:
        place: ``store``, or a server's name.
        size_bytes: Of the tar.
        crc: Of the segment in it.
        refused: Places that were asked before.
    """

    place: str
    size_bytes: int
    crc: int
    refused: tuple[Refused, ...] = ()


@dataclass(frozen=True)
class Place:
    """A place that may give a segment's tar.

    Attributes:
        name: ``store``, or a server's name.
        download: Writes the tar to a file; its errors are reasons to ask the next place.
    """

    name: str
    download: Callable[[Path], object]


def fetch_first(
    what: str, crc: int | None, places: Sequence[Place], path: Path, refused: Sequence[Refused] = ()
) -> Fetched:
    """Fetch a segment's tar from the first place that has it with the right check sum.

    Args:
        what: Names the segment.
        crc: The check sum that it must have; None: any.
        places: In the order in which they are asked.
        path: File to write; it is there only when this returns.
        refused: Places that are not asked, and why.

    Raises:
        NotFoundError: No place has it right; names each with its reason.
    """
    told = list(refused)
    for place in places:
        try:
            place.download(path)
            found = tar_crc(path)
            if crc is not None and found != crc:
                raise DataError(f"its tar has crc {found}, not {crc}")
            return Fetched(place.name, path.stat().st_size, found, tuple(told))
        except PinotPluginError as error:
            told.append(Refused(place.name, error.message))
            path.unlink(missing_ok=True)
    raise NotFoundError(
        f"no place gives {what} with crc {crc}: " + ("; ".join(map(str, told)) or "no server has it"),
        expected="a tar in the store, or an ONLINE replica, with the crc of the metadata",
        remedy="start the servers that have it; see `pinotctl deepstore audit`",
    )


class SegmentFetcher:
    """Fetches tars; threads may share it.

    Args:
        client: Client of the cluster: its credentials are used where a url leads to the controller.
        layout: The deep store.
        servers: Reaches servers.
        open_store: Gives the file store for a URI.
    """

    def __init__(
        self,
        client: ControllerClient,
        layout: StoreLayout,
        servers: ServerAdmins,
        *,
        open_store: OpenStore = open_deep_store,
    ) -> None:
        self._client = client
        self._layout = layout
        self._servers = servers
        self._open = open_store

    def fetch(self, record: SegmentRecord, replicas: Sequence[Replica], path: Path) -> Fetched:
        """Fetch a segment from the first place that has it right: the store, then each ONLINE replica.

        Args:
            record: The segment's metadata.
            replicas: What servers have; one whose check sum is known to differ is not asked.
            path: File to write; it is there only when this returns.

        Raises:
            ConflictError: The segment is not committed yet.
            NotFoundError: No place has it right; names each with its reason.
        """
        if record.consuming:
            raise ConflictError(
                f"{record.segment} of {record.table} is not committed yet",
                remedy="wait for its commit, or force it",
            )
        servers, refused = self._servers_of(record, replicas)
        if not record.url:
            refused.insert(0, Refused(STORE, "the metadata has no download url"))
            return _fetch(record, servers, path, refused)
        store = Place(STORE, lambda target: self._from_url(record.url, target))
        return _fetch(record, [store, *servers], path, refused)

    def fetch_from_replicas(self, record: SegmentRecord, replicas: Sequence[Replica], path: Path) -> Fetched:
        """As :meth:`fetch`, from servers alone; those whose check sum is known to be right come first."""
        servers, refused = self._servers_of(record, replicas)
        return _fetch(record, servers, path, refused)

    def from_store(self, record: SegmentRecord, uri: str, path: Path) -> Fetched:
        """Fetch a segment from a place in the store, given by a URI that is not percent-encoded.

        Raises:
            NotFoundError: It is not there, or is not this segment; says why.
        """
        return _fetch(record, [Place(STORE, lambda target: self._open(uri).download(uri, target))], path)

    def _servers_of(
        self, record: SegmentRecord, replicas: Sequence[Replica]
    ) -> tuple[list[Place], list[Refused]]:
        places, refused = [], []
        for each in sorted(replicas, key=lambda one: (one.crc is None, one.server)):
            if each.state != "ONLINE":
                refused.append(Refused(each.server, f"it is {each.state}"))
            elif not each.serves(record.crc):
                refused.append(Refused(each.server, f"it has crc {each.crc}, not {record.crc}"))
            else:
                places.append(Place(each.server, self._from_server(each.server, record)))
        return places, refused

    def _from_server(self, server: str, record: SegmentRecord) -> Callable[[Path], object]:
        return lambda target: self._servers.download(server, record.table, record.segment, target)

    def _from_url(self, url: str, path: Path) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https"):
            uri = self._layout.object_of(url) or url
            self._open(uri).download(uri, path)
            return
        config = BrokerConfig.like(self._client.config, (f"{parts.scheme}://{parts.netloc}",))
        transport = Transport(config, clock=self._client.clock)
        try:
            with path.open("wb") as target:
                transport.download(parts.path, target)
        finally:
            transport.close()


def _fetch(
    record: SegmentRecord, places: Sequence[Place], path: Path, refused: Sequence[Refused] = ()
) -> Fetched:
    return fetch_first(f"{record.segment} of {record.table}", record.crc, places, path, refused)
