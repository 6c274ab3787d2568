"""Fetches a segment's tar from the store, or else from a server."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from controller_client.deepstore.http_copies import HttpCopies
from controller_client.deepstore.judge import Replica
from controller_client.deepstore.listing import OpenStore, deep_stores
from controller_client.deepstore.remote_copies import (
    STORE,
    Fetched,
    Place,
    Refused,
    fetch_first,
    from_store,
    from_url,
)
from controller_client.deepstore.segment_record import SegmentRecord, WantedSegment
from controller_client.deepstore.servers import ServerTars
from controller_client.errors import ConflictError
from controller_client.rest.client import RestClient
from controller_client.segment_tar import TarLimits

__all__ = ["SegmentFetcher"]


class SegmentFetcher:
    """Fetches tars; threads may share it.

    Args:
        client: Client of the cluster: its credentials are for the cluster's own hosts.
        servers: Client of the servers.
        open_store: Returns the file store for a URI.
        limits: Limits for reading a copy; narrowed by the size in a segment's record.
        accept_agreeing: Also accept an unverified copy if two servers have the same rows.

    Attributes:
        open_store: Returns the file store for a URI.
    """

    def __init__(
        self,
        client: RestClient,
        servers: ServerTars,
        *,
        open_store: OpenStore | None = None,
        limits: TarLimits | None = None,
        accept_agreeing: bool = False,
    ) -> None:
        self._servers = servers
        self.open_store = open_store or deep_stores()
        self._limits = limits or TarLimits()
        self._accept_agreeing = accept_agreeing
        self._http = HttpCopies(client)

    def fetch(self, record: SegmentRecord, replicas: Sequence[Replica], path: Path) -> Fetched:
        """Fetch a segment from the first place with a good copy: the store, then each ONLINE replica.

        Args:
            record: The segment's metadata.
            replicas: What servers have; one whose checksum is known to differ is skipped.
            path: File to write; it exists only if this returns.

        Raises:
            ConflictError: The segment is not committed yet.
            NotFoundError: No place has a good copy; the error names each place with its reason.
            SetupError: This machine's disk is full or not writable.
        """
        if record.consuming:
            raise ConflictError(
                f"{record.segment} of {record.table} is not committed yet",
                remedy="wait for its commit, or force the commit",
            )
        servers, refused = self._servers_of(record, replicas)
        if not record.url:
            refused.insert(0, Refused(STORE, "the metadata has no download URL"))
        return self.fetch_wanted(record.wanted, servers, path, refused)

    def fetch_wanted(
        self, segment: WantedSegment, servers: Sequence[str], path: Path, refused: Sequence[Refused] = ()
    ) -> Fetched:
        """Fetch a segment, given only its expected content: from the store, then from servers.

        Errors as for :meth:`fetch`.

        Args:
            segment: The segment.
            servers: Names, in the order in which to try them.
            path: As for :meth:`fetch`.
            refused: Places that are skipped, and why.
        """
        places = self._servers_places(segment, servers)
        if segment.url:
            places.insert(0, Place(STORE, from_url(segment.url, self._http, self.open_store)))
        return self._fetch(segment, places, path, refused)

    def fetch_from_replicas(self, record: SegmentRecord, replicas: Sequence[Replica], path: Path) -> Fetched:
        """Do as :meth:`fetch`, from servers only; those whose checksum is known to be right come first."""
        servers, refused = self._servers_of(record, replicas)
        return self._fetch(record.wanted, self._servers_places(record.wanted, servers), path, refused)

    def from_store(self, record: SegmentRecord, uri: str, size_bytes: int, path: Path) -> Fetched:
        """Fetch a segment, unchanged, from a location in the store.

        Args:
            record: The segment's metadata.
            uri: The location, not percent-encoded.
            size_bytes: Its size according to the store.
            path: As for :meth:`fetch`.

        Raises:
            NotFoundError: It does not exist, or is not this segment; the error has the reason.
        """
        store = self.open_store(uri)
        place = Place(STORE, lambda target, most: from_store(store, uri, size_bytes, target, most))
        return self._fetch(record.wanted, [place], path, as_it_is=True)

    def _fetch(
        self,
        segment: WantedSegment,
        places: Sequence[Place],
        path: Path,
        refused: Sequence[Refused] = (),
        *,
        as_it_is: bool = False,
    ) -> Fetched:
        return fetch_first(
            str(segment),
            segment.expected,
            places,
            path,
            self._limits.for_size(segment.size_bytes),
            refused,
            accept_agreeing=self._accept_agreeing,
            as_it_is=as_it_is,
        )

    def _servers_of(
        self, record: SegmentRecord, replicas: Collection[Replica]
    ) -> tuple[list[str], list[Refused]]:
        servers, refused = [], []
        for replica in sorted(
            replicas, key=lambda one: (one.differs_from(record), one.crc is None, one.server)
        ):
            if replica.state != "ONLINE":
                refused.append(Refused(replica.server, f"it is {replica.state}"))
            elif replica.differs_from(record) and not self._accept_agreeing:
                refused.append(Refused(replica.server, f"it has crc {replica.crc}, not {record.crc}"))
            else:
                servers.append(replica.server)
        return servers, refused

    def _servers_places(self, wanted: WantedSegment, servers: Sequence[str]) -> list[Place]:
        table, segment = wanted.table, wanted.expected.segment
        return [Place(each, partial(self._servers.download, each, table, segment)) for each in servers]
