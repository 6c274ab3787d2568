"""What to do about the faults that an audit found, with the commands. Pure: no IO."""

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
        faults: What it helps against; none for what comes after all of it.
        text: What and why, in a sentence or two.
        commands: To copy into a shell, in this order.
    """

    faults: frozenset[Fault]
    text: str
    commands: tuple[str, ...] = ()


def next_steps(audits: Sequence[TableAudit]) -> list[NextStep]:
    """Describe what to do about the findings, the most useful first; empty where there are none."""
    steps = []
    if tables := _tables_with(audits, REPAIRABLE):
        # Without a name it repairs all tables.
        words = ["pinotctl deepstore repair", *(tables if len(tables) <= _NAMED else ())]
        if _tables_with(audits, {Fault.WRONG_CRC}):
            words.append("--read-tars")
        command = " ".join(words)
        text = "Upload a good copy from a server where the store has none; first see what would be done."
        steps.append(NextStep(REPAIRABLE, text, (f"{command} --dry-run", command)))
    if segments := _segments_with(audits, Fault.REPLICA_CRC):
        text = (
            "A server answers queries from another version of a segment than the others; a repair of the "
            "store does not change that. Once the store has its copy, let the server load it."
        )
        commands = tuple(f"pinotctl table reload {table} {name}" for table, name in segments)
        steps.append(NextStep(frozenset({Fault.REPLICA_CRC}), text, commands))
    if tables := _tables_with(audits, {Fault.FEW_COPIES}):
        text = (
            "There are too few good copies: start the servers that have the segment, or give the table more "
            "replicas; where the store lacks its copy, repair that first."
        )
        commands = tuple(f"pinotctl table state {table} --differences" for table in tables[:_NAMED])
        steps.append(NextStep(frozenset({Fault.FEW_COPIES}), text, commands))
    if tables := _tables_with(audits, {Fault.NOT_BUILT}):
        text = (
            "A segment was consumed to its end, and its servers died before it was built: have Pinot consume "
            "it again, as long as the stream has its rows."
        )
        commands = tuple(f"pinotctl consumption recover {table}" for table in tables[:_NAMED])
        steps.append(NextStep(frozenset({Fault.NOT_BUILT}), text, commands))
    if _tables_with(audits, {Fault.NOT_CHECKED}):
        text = (
            "The store could not be read from here: audit from a machine that reaches it, with its "
            "credentials, or name it with --store."
        )
        steps.append(
            NextStep(frozenset({Fault.NOT_CHECKED}), text, ("pinotctl deepstore audit --store URI",))
        )
    silent = sorted({server for audit in audits for server, _ in audit.silent})
    if silent or _tables_with(audits, {Fault.COPIES_UNKNOWN}):
        named = ", ".join(silent[:_NAMED]) + (", ..." if len(silent) > _NAMED else "")
        text = f"Servers did not report which copies they have: {named or 'see the findings'}. Start them."
        steps.append(NextStep(frozenset({Fault.COPIES_UNKNOWN}), text, ("pinotctl instance list",)))
    if steps:
        steps.append(NextStep(frozenset(), "Then audit again.", ("pinotctl deepstore audit",)))
    return steps


def _tables_with(audits: Sequence[TableAudit], faults: Collection[Fault]) -> list[str]:
    """The tables that have one of the faults, each as a word of a command."""
    return [
        shlex.quote(audit.table)
        for audit in audits
        if any(finding.fault in faults for each in audit.faulty for finding in each.findings)
    ]


def _segments_with(audits: Sequence[TableAudit], fault: Fault) -> list[tuple[str, str]]:
    """The first segments that have the fault, with their tables, as words of a command."""
    found = (
        (shlex.quote(audit.table), shlex.quote(each.record.segment))
        for audit in audits
        for each in audit.faulty
        if any(finding.fault is fault for finding in each.findings)
    )
    return list(islice(found, _NAMED))
