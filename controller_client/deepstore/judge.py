"""What is wrong with a segment's copies. Pure: no IO."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller_client.common.text import WordEnum
from controller_client.deepstore.policy import StorePolicy
from controller_client.deepstore.segment_record import SegmentRecord

__all__ = [
    "REPAIRABLE",
    "Fault",
    "Finding",
    "Judgement",
    "Replica",
    "Stored",
    "StoredState",
    "judge",
]


class Fault(WordEnum):
    """A kind of fault."""

    NO_URL = "no_url"
    """The metadata has no download URL: only servers have the segment."""
    OBJECT_GONE = "object_gone"
    """Nothing exists at the URL."""
    WRONG_SIZE = "wrong_size"
    """The stored tar is empty, or its size differs from the metadata."""
    WRONG_CRC = "wrong_crc"
    """The content of the stored tar could not be verified; found only if tars are read."""
    FEW_COPIES = "few_copies"
    """Fewer good copies, on servers and in the store together, than required."""
    REPLICA_CRC = "replica_crc"
    """A server has loaded another version of the segment than the one in the metadata."""
    NOT_BUILT = "not_built"
    """All rows are consumed, but no server has them any more and the segment was not built (pauseless tables
    of Pinot 1.4 and later)."""
    NOT_CHECKED = "not_checked"
    """The store could not be checked for this segment."""
    UNPROVEN = "unproven"
    """There is something at the URL, but the metadata has no size of the tar to compare it with, and it was
    not read."""
    COPIES_UNKNOWN = "copies_unknown"
    """Enough copies only if those on servers that did not report their checksums are good."""


REPAIRABLE = frozenset({Fault.NO_URL, Fault.OBJECT_GONE, Fault.WRONG_SIZE, Fault.WRONG_CRC})
"""Faults that a new copy in the store fixes."""

_STORE_UNKNOWN = frozenset({Fault.NOT_CHECKED, Fault.UNPROVEN})
"""Faults with which the store may have a good copy, or not."""


@dataclass(frozen=True)
class Finding:
    """One fault, with a description."""

    fault: Fault
    detail: str


@dataclass(frozen=True, slots=True)
class Replica:
    """A server's copy.

    Attributes:
        server: Name of the instance.
        state: State by the external view, e.g. ``ONLINE``.
        crc: The checksum that the server reports; None if it did not.
    """

    server: str
    state: str
    crc: int | None = None

    def differs_from(self, record: SegmentRecord) -> bool:
        """Whether the server reports that it has another version of the segment."""
        return None not in (self.crc, record.crc) and self.crc != record.crc and not record.by_data_crc

    def is_good(self, record: SegmentRecord) -> bool | None:
        """Whether the copy matches the record, according to the server; None: unknown."""
        if self.state != "ONLINE" or self.differs_from(record):
            return False
        return True if self.crc is not None and self.crc == record.crc else None


class StoredState(StrEnum):
    """What the store has at the URL."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Stored:
    """What the store has at a segment's download URL.

    Attributes:
        state: Whether the object exists.
        size_bytes: Its size, if it exists.
        proven: Whether its content was read and is that of the segment.
        unproven: Why its content could not be verified; None: it was verified, or not read.
        why: Why the state is unknown.
    """

    state: StoredState
    size_bytes: int | None = None
    proven: bool = False
    unproven: str | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A segment with everything known about its copies.

    Attributes:
        record: Its metadata.
        replicas: Its copies on servers.
        findings: Its faults; a segment that is not committed yet has one only if it can no longer be.
        stored_well: Whether the store has a good copy.
        copies: Copies that are known to be good, on servers and in the store together.
        may_be_stored: Whether nothing shows if the store has a good copy: it could not be checked, or what it
            has could not be compared.
    """

    record: SegmentRecord
    replicas: tuple[Replica, ...]
    findings: tuple[Finding, ...]
    stored_well: bool
    copies: int
    may_be_stored: bool = False

    @property
    def unstored(self) -> bool:
        """Whether the store is known not to have a good copy."""
        return not (self.stored_well or self.may_be_stored or self.record.consuming)

    @property
    def without_good_copy(self) -> bool:
        """Whether it is certain that no copy is good, neither in the store nor on a server."""
        if self.record.consuming:
            return any(finding.fault is Fault.NOT_BUILT for finding in self.findings)
        # A server that still consumes a segment which was committed a moment ago has its rows.
        return self.unstored and all(
            each.is_good(self.record) is False and each.state != "CONSUMING" for each in self.replicas
        )

    @property
    def repairable(self) -> bool:
        """Whether a new copy in the store fixes one of its faults."""
        return any(finding.fault in REPAIRABLE for finding in self.findings)


def judge(
    record: SegmentRecord,
    replicas: tuple[Replica, ...],
    stored: Stored | None,
    min_copies: int,
    policy: StorePolicy = StorePolicy.STORE,
) -> Judgement:
    """Judge a segment.

    Args:
        record: Its metadata.
        replicas: What servers have.
        stored: What the store has at the URL; None if there is no URL.
        min_copies: Required number of good copies, on servers and in the store together.
        policy: Whether one of them must be in the store. If not, a copy in the store still counts.
    """
    if record.consuming:
        return Judgement(record, replicas, _build_fault(record, replicas), stored_well=False, copies=0)
    fault = _store_fault(record, stored)
    stored_well = fault is None
    may_be_stored = fault is not None and fault.fault in _STORE_UNKNOWN
    good = [replica.server for replica in replicas if replica.is_good(record)]
    unknown = [replica.server for replica in replicas if replica.is_good(record) is None]
    copies = len(good) + stored_well
    if policy is StorePolicy.SERVERS:
        fault = None
    findings = [] if fault is None else [fault]
    findings += [
        Finding(Fault.REPLICA_CRC, f"{replica.server} has crc {replica.crc}, not {record.crc}")
        for replica in replicas
        if replica.differs_from(record)
    ]
    # A store that could not be checked may well have a copy, and has its own finding.
    store_may_have = fault is not None and may_be_stored
    if copies + store_may_have < min_copies:
        where = ", ".join(good) or "no server"
        store = ", and the store" if stored_well else ", not the store" if fault is not None else ""
        detail = f"{copies} of {min_copies}: {where}{store}"
        if copies + store_may_have + len(unknown) < min_copies:
            findings.append(Finding(Fault.FEW_COPIES, detail))
        else:
            detail += f"; no checksum from {', '.join(unknown)}"
            findings.append(Finding(Fault.COPIES_UNKNOWN, detail))
    return Judgement(record, replicas, tuple(findings), stored_well, copies, may_be_stored)


def _build_fault(record: SegmentRecord, replicas: tuple[Replica, ...]) -> tuple[Finding, ...]:
    """Return the fault of a segment that must be built from rows that no server has."""
    if not record.committing or any(each.state in ("CONSUMING", "ONLINE") for each in replicas):
        return ()
    states = ", ".join(f"{each.state} on {each.server}" for each in replicas) or "on no server"
    return (Finding(Fault.NOT_BUILT, f"consumed but never built; it is {states}"),)


def _store_fault(record: SegmentRecord, stored: Stored | None) -> Finding | None:
    if not record.url or stored is None:
        return Finding(Fault.NO_URL, "only servers have it")
    if stored.state is StoredState.UNKNOWN:
        return Finding(Fault.NOT_CHECKED, stored.why or "unknown")
    url = record.shown_url
    if stored.state is StoredState.ABSENT:
        return Finding(Fault.OBJECT_GONE, f"nothing at {url}")
    # The size in the metadata is that of the tar before encryption.
    expected = None if record.encrypted else record.tar_bytes
    if not stored.size_bytes or (expected is not None and stored.size_bytes != expected):
        should = "more" if expected is None else f"{expected:,}"
        return Finding(Fault.WRONG_SIZE, f"{stored.size_bytes or 0:,} bytes, not {should}, at {url}")
    if stored.unproven is not None:
        return Finding(Fault.WRONG_CRC, f"at {url}: {stored.unproven}")
    if expected is None and not stored.proven:
        why = (
            "an encrypted tar has nothing to compare it with"
            if record.encrypted
            else "the metadata has no size of the tar, and it was not read"
        )
        return Finding(Fault.UNPROVEN, f"{stored.size_bytes:,} bytes at {url}: {why}")
    return None
