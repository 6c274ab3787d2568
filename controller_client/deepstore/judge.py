"""What is wrong with a segment's copies. Pure: no IO."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from controller_client.deepstore.segment_record import SegmentRecord
from controller_client.word_enum import WordEnum

__all__ = ["REPAIRABLE", "Fault", "Finding", "Judgement", "Replica", "Stored", "StoredState", "judge"]


class Fault(WordEnum):
    """What can be wrong."""

    NO_URL = "no_url"
    """The metadata has no download url: only servers have the segment."""
    OBJECT_GONE = "object_gone"
    """The url leads to nothing."""
    WRONG_SIZE = "wrong_size"
    """The stored tar has another size than the metadata says, or none at all."""
    WRONG_CRC = "wrong_crc"
    """The stored tar is another segment, or no segment; seen only where tars are read."""
    FEW_COPIES = "few_copies"
    """Fewer good copies, on servers and in the store together, than asked for."""
    REPLICA_CRC = "replica_crc"
    """A server holds another segment under this name than the metadata says."""
    NOT_CHECKED = "not_checked"
    """The store could not be inspected for this segment."""


REPAIRABLE = frozenset({Fault.NO_URL, Fault.OBJECT_GONE, Fault.WRONG_SIZE, Fault.WRONG_CRC})
"""Faults that a new copy in the store mends."""


@dataclass(frozen=True)
class Finding:
    """One fault, in words."""

    fault: Fault
    detail: str


@dataclass(frozen=True)
class Replica:
    """A server's copy.

    Attributes:
        server: Name of the instance.
        state: State by the external view, e.g. ``ONLINE``.
        crc: What the server says; None: not known.
    """

    server: str
    state: str
    crc: int | None = None

    def serves(self, crc: int | None) -> bool:
        """Whether it is a copy of the segment with this check sum, as far as is known."""
        return self.state == "ONLINE" and (None in (crc, self.crc) or crc == self.crc)


class StoredState(StrEnum):
    """What the store has at the url."""

    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Stored:
    """What the store has at a segment's download url.

    Attributes:
        state: Whether it is there.
        size_bytes: Its size, where it is there.
        crc: Of the segment in the tar; None: the tar was not read, or cannot be read.
        unreadable: Why the tar cannot be read; None: it was not tried, or it can.
        why: Why nothing is known.
    """

    state: StoredState
    size_bytes: int | None = None
    crc: int | None = None
    unreadable: str | None = None
    why: str | None = None


@dataclass(frozen=True)
class Judgement:
    """A segment with all that is known of its copies.

    Attributes:
        record: Its metadata.
        replicas: On servers.
        findings: What is wrong; none for a segment that is not committed yet.
        stored_well: Whether the store has a good copy.
        copies: Good copies, on servers and in the store together.
    """

    record: SegmentRecord
    replicas: tuple[Replica, ...]
    findings: tuple[Finding, ...]
    stored_well: bool
    copies: int

    @property
    def repairable(self) -> bool:
        """Whether a new copy in the store is what it needs."""
        return any(finding.fault in REPAIRABLE for finding in self.findings)


def judge(
    record: SegmentRecord, replicas: tuple[Replica, ...], stored: Stored | None, min_copies: int
) -> Judgement:
    """Judge a segment.

    Args:
        record: Its metadata.
        replicas: What servers have.
        stored: What the store has at the url; None where there is no url.
        min_copies: Good copies that there should be, on servers and in the store together.
    """
    if record.consuming:
        return Judgement(record, replicas, (), stored_well=False, copies=0)
    fault = _store_fault(record, stored)
    stored_well = fault is None
    copies = sum(replica.serves(record.crc) for replica in replicas) + stored_well
    findings = [] if fault is None else [fault]
    findings += [
        Finding(Fault.REPLICA_CRC, f"{each.server} has crc {each.crc}, not {record.crc}")
        for each in replicas
        if None not in (each.crc, record.crc) and each.crc != record.crc
    ]
    # What could not be looked at may well be a copy.
    possible = copies + (fault is not None and fault.fault is Fault.NOT_CHECKED)
    if possible < min_copies:
        where = ", ".join(each.server for each in replicas if each.serves(record.crc)) or "no server"
        store = "and the store" if stored_well else "not the store"
        findings.append(Finding(Fault.FEW_COPIES, f"{copies} of {min_copies}: {where}, {store}"))
    return Judgement(record, replicas, tuple(findings), stored_well, copies)


def _store_fault(record: SegmentRecord, stored: Stored | None) -> Finding | None:
    if not record.url or stored is None:
        return Finding(Fault.NO_URL, "only servers have it")
    if stored.state is StoredState.UNKNOWN:
        return Finding(Fault.NOT_CHECKED, stored.why or "nothing is known")
    if stored.state is StoredState.ABSENT:
        return Finding(Fault.OBJECT_GONE, f"nothing at {record.url}")
    # The metadata's size is that of the tar before it was encrypted.
    expected = None if record.encrypted else record.size_bytes
    if not stored.size_bytes or (expected is not None and stored.size_bytes != expected):
        should = "more" if expected is None else f"{expected:,}"
        return Finding(Fault.WRONG_SIZE, f"{stored.size_bytes or 0:,} bytes, not {should}, at {record.url}")
    if stored.unreadable is not None:
        return Finding(Fault.WRONG_CRC, f"{stored.unreadable} at {record.url}")
    if None not in (stored.crc, record.crc) and stored.crc != record.crc:
        return Finding(Fault.WRONG_CRC, f"crc {stored.crc}, not {record.crc}, at {record.url}")
    return None
