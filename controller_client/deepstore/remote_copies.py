"""Places that may give a segment's tar: they are asked until one gives what is proven to be the segment."""

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
"""Name of the store as a place."""

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NAMES_SHOWN = 5


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
        crc: That of the segment's record.
        refused: Places that were asked before.
        proof: Why it is the segment.
        left_out: What the place had beside the segment, and the tar does not: files, indexes, columns.
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
            text += " (forward indexes and dictionaries have the data crc, the rest is not proven)"
        elif self.proof is Proof.SERVERS:
            text += " (has the same rows as another server, which no sum proves)"
        if self.left_out:
            more = len(self.left_out) - _NAMES_SHOWN
            names = ", ".join(self.left_out[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
            text += f" without what was added to it later: {names}"
        return text


@dataclass(frozen=True)
class Place:
    """A place that may give a segment's tar.

    Attributes:
        name: ``store``, or a server's name.
        download: Writes the tar to a file, of so many bytes at most; its errors are reasons to ask the next
            place.
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
    """Fetch a segment's tar from the first place whose copy is proven to be the segment.

    A copy of which only the data is proven (Pinot 1.5) is taken when no place has a better one.

    Args:
        what: Names the segment.
        expected: What its copies must be.
        places: In the order in which they are asked.
        path: File to write; it is there only when this returns.
        limits: How much is read of a copy.
        refused: Places that are not asked, and why.
        accept_agreeing: Also take a copy that is not proven, when two servers have the same rows.
        as_it_is: Leave in the tar what was added to the segment.

    Raises:
        NotFoundError: No place has it right; names each with its reason.
        SetupError: This machine's disk is full, or cannot be written.
    """
    search = _Search(expected, path, limits, accept_agreeing=accept_agreeing, as_it_is=as_it_is)
    passed_over = list(refused)
    try:
        for place in places:
            try:
                found = search.ask(place)
            except SetupError:
                raise
            except PinotPluginError as error:
                _raise_if_full(error, path)
                passed_over.append(Refused(place.name, error.message))
            else:
                if found is not None:
                    return search.take(found, passed_over)
        if search.spare is not None:
            return search.take(search.spare, passed_over)
    finally:
        search.close()
    reasons = "; ".join(map(str, passed_over)) or "no server has it"
    raise NotFoundError(
        f"no place gives {what} with crc {expected.crc}: {reasons}",
        expected="a tar in the store, or an ONLINE replica, whose content is that of the metadata",
        remedy="start the servers that have it; see `pinotctl deepstore audit`",
    )


@dataclass(frozen=True)
class _Found:
    """A tar that may be taken, and where it is."""

    fetched: Fetched
    path: Path


class _Search:
    """The tars of one search: the last one, and those that are kept in case that nothing better comes.

    Attributes:
        spare: One of which only the data is proven.
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

    def ask(self, place: Place) -> _Found | None:
        """Fetch and judge a copy; None: it is kept, and the next place is to be asked."""
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
            raise DataError(verdict.reason or "it is not proven")
        return found

    def take(self, found: _Found, passed_over: Sequence[Refused]) -> Fetched:
        """Put a tar where it was asked for."""
        found.path.replace(self._path)
        others = tuple(each for each in passed_over if each.place != found.fetched.place)
        return replace(found.fetched, refused=others)

    def close(self) -> None:
        """Remove what was not taken."""
        for path in (self._asked, self._spare, self._labelled):
            path.unlink(missing_ok=True)

    def _agreed(self, place: Place, verdict: Verdict) -> _Found | None:
        """Return a copy that has the segment's label, when another server has the same rows.

        The other may have another label: where servers write into segments, each one that builds a segment
        for itself gets its own.
        """
        if not self._accept_agreeing or place.name == STORE:
            return None
        digest = digest_of_data(self._asked, verdict.content, self._limits, SYSTEM_COLUMNS)
        if self._unproven is not None and self._unproven[0] == digest:
            return self._unproven[1]
        if verdict.is_labelled:
            found = self._plain(place, verdict, Proof.SERVERS)
            if digest in self._digests:
                return found
            if self._unproven is None:
                self._unproven = digest, self._kept(found, self._labelled)
        self._digests.add(digest)
        return None

    def _kept(self, found: _Found, path: Path) -> _Found:
        found.path.replace(path)
        return _Found(found.fetched, path)

    def _plain(self, place: Place, verdict: Verdict, proof: Proof) -> _Found:
        """Leave only the segment in the tar, in the way in which Pinot writes it."""
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
            raise DataError(f"what was put together of it has crc {found}, not {self._expected.crc}")


def from_store(store: FileStore, uri: str, size_bytes: int | None, path: Path, max_bytes: int) -> None:
    """Fetch a tar from a file store.

    Args:
        store: The file store.
        uri: Place of the tar, not percent-encoded.
        size_bytes: What the store says of its size; None: there is nothing.
        path: File to write.
        max_bytes: Most that it may have.

    Raises:
        NotFoundError: There is nothing, or no file.
        DataError: It is larger.
        SourceError: It cannot be read.
    """
    if size_bytes is None:
        raise NotFoundError(f"nothing at {uri}", where=uri)
    if size_bytes > max_bytes:
        raise DataError(
            f"the tar has {size_bytes:,} bytes, more than the {max_bytes:,} that it may", where=uri
        )
    store.download(uri, path)


def from_url(url: str, http: HttpCopies, open_store: OpenStore) -> Callable[[Path, int], object]:
    """Return how a tar is fetched from a segment's download url, for a :class:`Place`.

    Args:
        url: The download url.
        http: Fetches by HTTP.
        open_store: Gives the file store for a URI.
    """
    if is_http(url):
        return lambda target, most: http.download(url, target, most)

    def download(target: Path, most: int) -> None:
        uri = object_of(url)
        if uri is None:
            raise DataError("the download url leads to no place of a store")
        store = open_store(uri)
        from_store(store, uri, store.size_bytes(uri), target, most)

    return download


def _raise_if_full(error: PinotPluginError, path: Path) -> None:
    """A store that copies files reports a full disk of this machine as its own."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.errno in _DISK_FULL:
        with on_this_disk(path):
            raise cause
