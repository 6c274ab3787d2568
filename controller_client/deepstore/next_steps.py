"""What to do about the faults that an audit found, with commands. Pure: no IO."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice

from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.judge import REPAIRABLE, Fault

__all__ = ["NextStep", "next_steps"]

_NAMED = 5


@dataclass(frozen=True)
class NextStep:
    """One thing to do.

    Attributes:
        faults: The faults that it fixes; empty for the final step.
        text: What to do and why, in a sentence or two.
        commands: Commands to copy into a shell, in this order.
    """

    faults: frozenset[Fault]
    text: str
    commands: tuple[str, ...] = ()


def next_steps(audits: Sequence[TableAudit]) -> list[NextStep]:
    """Return what to do about the findings, most useful first; empty if there are none."""
    steps = []
    if tables := _tables_with(audits, REPAIRABLE):
        # Without table names, it repairs all tables.
        words = ["pinotctl deepstore repair", *(tables if len(tables) <= _NAMED else ())]
        if _tables_with(audits, {Fault.WRONG_CRC}):
            words.append("--read-tars")
        command = " ".join(words)
        text = "Upload good copies from servers where the store has none; check first what would be done."
        steps.append(NextStep(REPAIRABLE, text, (f"{command} --dry-run", command)))
    if segments := _segments_with(audits, Fault.REPLICA_CRC):
        text = (
            "A server answers queries from a different version of a segment than the others; repairing the "
            "store does not change that. Once the store has the copy, have the server reload the segment."
        )
        commands = tuple(f"pinotctl table reload {table} {name}" for table, name in segments)
        steps.append(NextStep(frozenset({Fault.REPLICA_CRC}), text, commands))
    if tables := _tables_with(audits, {Fault.FEW_COPIES}):
        text = (
            "There are too few good copies: start the servers that have the segments, or give the table more "
            "replicas. If the store lacks a copy, repair that first."
        )
        commands = tuple(f"pinotctl table state {table} --differences" for table in tables[:_NAMED])
        steps.append(NextStep(frozenset({Fault.FEW_COPIES}), text, commands))
    if tables := _tables_with(audits, {Fault.NOT_BUILT}):
        text = (
            "A segment was fully consumed, but its servers died before it was built: have Pinot consume it "
            "again while the stream still has its rows."
        )
        commands = tuple(f"pinotctl consumption recover {table}" for table in tables[:_NAMED])
        steps.append(NextStep(frozenset({Fault.NOT_BUILT}), text, commands))
    if _tables_with(audits, {Fault.NOT_CHECKED}):
        text = (
            "The store could not be read from here: run the audit on a machine that can reach it and has "
            "credentials, or pass its URI with --store."
        )
        steps.append(
            NextStep(frozenset({Fault.NOT_CHECKED}), text, ("pinotctl deepstore audit --store URI",))
        )
    if tables := _tables_with(audits, {Fault.UNPROVEN}):
        text = (
            "The metadata of some segments has no size of the tar (commits by servers in Pinot 0.11 and "
            "since 1.3), so the store's copies count only once they are read. Encrypted tars never do."
        )
        words = ["pinotctl deepstore audit --read-tars", *(tables if len(tables) <= _NAMED else ())]
        steps.append(NextStep(frozenset({Fault.UNPROVEN}), text, (" ".join(words),)))
    silent = sorted({server for audit in audits for server, _ in audit.silent})
    if silent or _tables_with(audits, {Fault.COPIES_UNKNOWN}):
        named = ", ".join(silent[:_NAMED]) + (", ..." if len(silent) > _NAMED else "")
        text = f"Servers did not report which copies they have: {named or 'see the findings'}. Start them."
        steps.append(NextStep(frozenset({Fault.COPIES_UNKNOWN}), text, ("pinotctl instance list",)))
    if steps:
        steps.append(NextStep(frozenset(), "Then audit again.", ("pinotctl deepstore audit",)))
    return steps


def _tables_with(audits: Sequence[TableAudit], faults: Collection[Fault]) -> list[str]:
    """Return the tables that have one of the faults, quoted for a command line."""
    return [
        shlex.quote(audit.table)
        for audit in audits
        if any(finding.fault in faults for each in audit.faulty for finding in each.findings)
    ]


def _segments_with(audits: Sequence[TableAudit], fault: Fault) -> list[tuple[str, str]]:
    """Return the first segments that have the fault, with their tables, quoted for a command line."""
    segments = (
        (shlex.quote(audit.table), shlex.quote(each.record.segment))
        for audit in audits
        for each in audit.faulty
        if any(finding.fault is fault for finding in each.findings)
    )
    return list(islice(segments, _NAMED))
