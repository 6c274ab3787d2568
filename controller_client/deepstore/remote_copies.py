"""Places that may have a segment's tar: they are tried until one has a copy that can be verified."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from controller_client.deepstore.http_copies import HttpCopies
from controller_client.deepstore.layout import is_http, object_of
from controller_client.deepstore.listing import OpenStore
from controller_client.errors import DataError, NotFoundError, PinotPluginError, SetupError
from controller_client.filestore import FileStore
from controller_client.segment_tar import (
    ExpectedSegment,
    Proof,
    TarLimits,
    Verdict,
    digest_of_data,
    judge_copy,
    on_this_disk,
    repack,
)
from controller_client.upsert.columns import SYSTEM_COLUMNS

__all__ = ["STORE", "Fetched", "Place", "Refused", "fetch_first", "from_store", "from_url"]

STORE = "store"
"""Name of the store when it is listed among places."""

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NAMES_SHOWN = 5


@dataclass(frozen=True)
class Refused:
    """A place that did not provide the segment.

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
        size_bytes: Size of the tar.
        crc: Checksum in the segment's record.
        refused: Places that were tried before or skipped.
        proof: How it was verified to be the segment.
        left_out: What the place had in addition to the segment, and the tar omits: files, indexes, columns.
    """

    place: str
    size_bytes: int
    crc: int
    refused: tuple[Refused, ...] = ()
    proof: Proof = Proof.CONTENT
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = self.place
        if self.proof is Proof.DATA:
            text += " (forward indexes and dictionaries have the data crc; the rest is not verified)"
        elif self.proof is Proof.SERVERS:
            text += " (has the same rows as another server; not verified by a checksum)"
        if self.left_out:
            more = len(self.left_out) - _NAMES_SHOWN
            names = ", ".join(self.left_out[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
            text += f", without later additions: {names}"
        return text


@dataclass(frozen=True)
class Place:
    """A place that may have a segment's tar.

    Attributes:
        name: ``store``, or a server's name.
        download: Writes the tar to a file, up to a number of bytes; if it fails, the next place is tried.
    """

    name: str
    download: Callable[[Path, int], object]


def fetch_first(
    what: str,
    expected: ExpectedSegment,
    places: Sequence[Place],
    path: Path,
    limits: TarLimits,
    refused: Sequence[Refused] = (),
    *,
    accept_agreeing: bool = False,
    as_it_is: bool = False,
) -> Fetched:
    """Fetch a segment's tar from the first location whose copy can be verified.

    If only the data of a copy can be verified (Pinot 1.5), it is used if no location has a better one.

    Args:
        what: Name of the segment, for messages.
        expected: The segment's expected content.
        places: The locations, in the order in which to try them.
        path: File to write; it exists only if this returns.
        limits: Limits for reading a copy.
        refused: Locations that are skipped, and why.
        accept_agreeing: Also accept an unverified copy if two servers have the same rows.
        as_it_is: Keep in the tar what was added to the segment.

    Raises:
        NotFoundError: No location has a good copy; the error names each location with its reason.
        SetupError: This machine's disk is full or not writable.
    """
    search = _Search(expected, path, limits, accept_agreeing=accept_agreeing, as_it_is=as_it_is)
    passed_over = list(refused)
    try:
        for place in places:
            try:
                copy = search.fetch(place)
            except SetupError:
                raise
            except PinotPluginError as error:
                _raise_if_full(error, path)
                passed_over.append(Refused(place.name, error.message))
            else:
                if copy is not None:
                    return search.take(copy, passed_over)
        if search.spare is not None:
            return search.take(search.spare, passed_over)
    finally:
        search.close()
    reasons = "; ".join(map(str, passed_over)) or "no server has it"
    raise NotFoundError(
        f"no location has {what} with crc {expected.crc}: {reasons}",
        expected="a tar in the store, or an ONLINE replica, whose content matches the metadata",
        remedy="start the servers that have it; see `pinotctl deepstore audit`",
    )


@dataclass(frozen=True)
class _Found:
    """A tar that may be used, and where it is."""

    fetched: Fetched
    path: Path


class _Search:
    """The tars of one search: the current one, and those that are kept in case nothing better is found.

    Attributes:
        spare: A tar of which only the data was verified.
    """

    def __init__(
        self,
        expected: ExpectedSegment,
        path: Path,
        limits: TarLimits,
        *,
        accept_agreeing: bool,
        as_it_is: bool,
    ) -> None:
        self._expected = expected
        self._path = path
        self._limits = limits
        self._accept_agreeing = accept_agreeing
        self._as_it_is = as_it_is
        self._asked, self._spare, self._labelled = (
            path.with_name(f"{path.name}.{name}") for name in ("asked", "spare", "labelled")
        )
        self._digests: set[str] = set()
        self._unproven: tuple[str, _Found] | None = None
        self.spare: _Found | None = None

    def fetch(self, place: Place) -> _Found | None:
        """Fetch and judge a copy; None: it is kept, and the next place should be tried."""
        with on_this_disk(self._asked):
            place.download(self._asked, self._limits.max_tar_bytes)
            verdict = judge_copy(self._asked, self._expected, self._limits)
            if verdict.proof is Proof.CONTENT:
                return self._plain(place, verdict, Proof.CONTENT)
            if verdict.proof is Proof.DATA:
                if self.spare is None:
                    self.spare = self._kept(self._plain(place, verdict, Proof.DATA), self._spare)
                return None
            found = self._agreed(place, verdict)
        if found is None:
            raise DataError(verdict.reason or "it cannot be verified")
        return found

    def take(self, copy: _Found, passed_over: Sequence[Refused]) -> Fetched:
        """Move a tar to the requested path."""
        copy.path.replace(self._path)
        others = tuple(each for each in passed_over if each.place != copy.fetched.place)
        return replace(copy.fetched, refused=others)

    def close(self) -> None:
        """Remove the tars that were not used."""
        for path in (self._asked, self._spare, self._labelled):
            path.unlink(missing_ok=True)

    def _agreed(self, place: Place, verdict: Verdict) -> _Found | None:
        """Return a copy that has the segment's label, if another server has the same rows.

        The other copy may have another label: if servers write into segments, each server that builds a
        segment itself gets its own label.
        """
        if not self._accept_agreeing or place.name == STORE:
            return None
        digest = digest_of_data(self._asked, verdict.content, self._limits, SYSTEM_COLUMNS)
        if self._unproven is not None and self._unproven[0] == digest:
            return self._unproven[1]
        if verdict.is_labelled:
            copy = self._plain(place, verdict, Proof.SERVERS)
            if digest in self._digests:
                return copy
            if self._unproven is None:
                self._unproven = digest, self._kept(copy, self._labelled)
        self._digests.add(digest)
        return None

    def _kept(self, copy: _Found, path: Path) -> _Found:
        copy.path.replace(path)
        return _Found(copy.fetched, path)

    def _plain(self, place: Place, verdict: Verdict, proof: Proof) -> _Found:
        """Leave only the segment in the tar, in the form in which Pinot writes it."""
        content, committed, segment = verdict.content, verdict.committed, self._expected.segment
        left_out: tuple[str, ...] = ()
        if not (self._as_it_is or (committed.is_all_of(content) and content.plain_name == segment)):
            repack(self._asked, content, committed, segment, self._limits)
            if proof is Proof.CONTENT:
                self._check_repacked()
            left_out = tuple(committed.left_out(content))
        size_bytes = self._asked.stat().st_size
        fetched = Fetched(place.name, size_bytes, self._expected.crc or 0, (), proof, left_out)
        return _Found(fetched, self._asked)

    def _check_repacked(self) -> None:
        found = judge_copy(self._asked, self._expected, self._limits).crc
        if found != self._expected.crc:
            raise DataError(f"the repacked segment has crc {found}, not {self._expected.crc}")


def from_store(store: FileStore, uri: str, size_bytes: int | None, path: Path, max_bytes: int) -> None:
    """Fetch a tar from a file store.

    Args:
        store: The file store.
        uri: Location of the tar, not percent-encoded.
        size_bytes: Its size according to the store; None if it does not exist.
        path: File to write.
        max_bytes: Maximum size.

    Raises:
        NotFoundError: It does not exist, or is not a file.
        DataError: It is larger.
        SourceError: It cannot be read.
    """
    if size_bytes is None:
        raise NotFoundError(f"nothing at {uri}", where=uri)
    if size_bytes > max_bytes:
        raise DataError(f"the tar has {size_bytes:,} bytes, but at most {max_bytes:,} are allowed", where=uri)
    store.download(uri, path)


def from_url(url: str, http: HttpCopies, open_store: OpenStore) -> Callable[[Path, int], object]:
    """Return how to fetch a tar from a segment's download URL, for a :class:`Place`.

    Args:
        url: The download URL.
        http: Fetches by HTTP.
        open_store: Returns the file store for a URI.
    """
    if is_http(url):
        return lambda target, most: http.download(url, target, most)

    def download(target: Path, most: int) -> None:
        uri = object_of(url)
        if uri is None:
            raise DataError("the download URL is not a location in a store")
        store = open_store(uri)
        from_store(store, uri, store.size_bytes(uri), target, most)

    return download


def _raise_if_full(error: PinotPluginError, path: Path) -> None:
    """Raise a SetupError if this machine's disk is full; a store that copies files reports it as its own."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in _DISK_FULL:
        with on_this_disk(path):
            raise cause
