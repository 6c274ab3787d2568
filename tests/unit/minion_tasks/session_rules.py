"""The rules of sessions, implemented naively: what triggers read, and what the table contains afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import currently_in_test_context, note
from hypothesis import strategies as st

from minion_tasks.file_ingestion.session.model import IngestionMode

APPEND, UPDATE = IngestionMode.APPEND, IngestionMode.UPDATE
SYNC, SWAP = IngestionMode.SYNC, IngestionMode.SWAP


Versions = Mapping[str, int]


names = st.sampled_from("abcdef")


@dataclass(frozen=True)
class Ledger:
    """A session's files by their results."""

    staged: Versions = field(default_factory=dict)
    skipped: Versions = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    together: frozenset[frozenset[str]] = frozenset()

    @property
    def known(self) -> frozenset[str]:
        return self.unread.union(self.staged, self.skipped)


@dataclass(frozen=True)
class TableModel:
    """What queries see: the version of each file, and foreign segments.

    Attributes:
        together: Sets of files that share a segment, since they were read together.
    """

    files: Versions = field(default_factory=dict)
    together: frozenset[frozenset[str]] = frozenset()
    foreign: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan:
    """What a trigger must do with the files of its session.

    Attributes:
        kept: Files that are and stay staged.
        skipped: Files that stay skipped.
        to_read: All other files of the session.
    """

    kept: Versions
    skipped: Versions
    to_read: frozenset[str]
    is_nothing: bool


def expected_plan(mode: IngestionMode, ledger: Ledger, listed: Versions, table: TableModel) -> Plan:
    """Return what a trigger must read, for a retry or, depending on the mode, for a new session."""
    gone = [each for each in ledger.together if not each.issubset(listed)]
    kept = {
        name: version
        for name, version in ledger.staged.items()
        if name in listed and not any(name in each for each in gone)
    }
    skipped = {name: version for name, version in ledger.skipped.items() if listed.get(name) == version}
    differing = {name for name, version in listed.items() if table.files.get(name) != version}
    deleted = set(table.files).difference(listed)
    if mode is APPEND:
        wanted = set(listed).difference(table.files)
    elif mode in (SYNC, UPDATE):
        moving = differing.union(deleted if mode is SYNC else (), kept, ledger.unread.intersection(listed))
        wanted = differing.union(*(each for each in table.together if moving.intersection(each)))
    else:
        wanted = set(listed) if ledger.known or differing or deleted or table.foreign else set()
    to_read = wanted.union(ledger.known).intersection(listed).difference(kept, skipped)
    removes = (bool(deleted) and mode in (SYNC, SWAP)) or (bool(table.foreign) and mode is SWAP)
    return Plan(kept, skipped, frozenset(to_read), not to_read and not removes)


def expected_table(
    mode: IngestionMode, staged: Versions, listed: Versions, table: TableModel, ledger: Ledger
) -> TableModel:
    """Return what queries must see when a session with these files is done."""
    if mode in (APPEND, UPDATE):
        files, foreign = {**table.files, **staged}, table.foreign
    elif mode is SYNC:
        kept = {name: version for name, version in table.files.items() if name in listed}
        files, foreign = {**kept, **staged}, table.foreign
    else:
        files, foreign = dict(staged), frozenset()
    left = {name for name in files if name not in staged}
    together = {each for each in table.together if each.issubset(left)}
    return TableModel(files, frozenset(together.union(ledger.together)), foreign)


def cannot_plan(mode: IngestionMode, listed: Versions, table: TableModel) -> bool:
    """Return whether a segment to be replaced has rows of a file that is gone, and has to stay."""
    return mode is UPDATE and any(
        not each.issubset(listed)
        and any(listed.get(name, table.files[name]) != table.files[name] for name in each)
        for each in table.together
    )


def cannot_replace(mode: IngestionMode, staged: Versions, listed: Versions, table: TableModel) -> bool:
    """Return whether rows of a file would be lost that the session could not read."""
    if mode is UPDATE:
        return any(not each.isdisjoint(staged) and not each.issubset(staged) for each in table.together)
    return mode is SYNC and any(
        any(name in staged or name not in listed for name in each)
        and any(name in listed and name not in staged for name in each)
        for each in table.together
    )


@dataclass(frozen=True)
class Expected:
    """What queries must see once a session's switch is finished, and the foreign segments before it."""

    table: TableModel
    session_id: str
    foreign_then: frozenset[str]


def explain(text: str) -> None:
    if currently_in_test_context():
        note(text)
