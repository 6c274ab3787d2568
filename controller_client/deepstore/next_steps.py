"""What to do about the faults that an audit found, with the commands. Pure: no IO."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from controller_client.deepstore.audit import TableAudit
from controller_client.deepstore.judge import REPAIRABLE, Fault

__all__ = ["NextStep", "next_steps"]

_NAMED = 5


@dataclass(frozen=True)
class NextStep:
    """One thing to do.

    Attributes:
        text: What and why, in a sentence or two.
        commands: To copy into a shell, in this order.
    """

    text: str
    commands: tuple[str, ...] = ()


def next_steps(audits: Sequence[TableAudit]) -> list[NextStep]:
    """Say what to do about the findings, the most useful first; empty where there are none."""
    steps = []
    if tables := _tables_with(audits, REPAIRABLE):
        # Without a name it repairs all tables.
        command = " ".join(["pinotctl deepstore repair", *(tables if len(tables) <= _NAMED else ())])
        text = "Upload a good copy from a server where the store has none; first see what would be done."
        steps.append(NextStep(text, (f"{command} --dry-run", command)))
    if _tables_with(audits, {Fault.REPLICA_CRC}):
        text = (
            "A server has other files than the metadata says. Once the store has a good copy, let the server "
            "load the segment from there; the findings have its TABLE and SEGMENT."
        )
        url = "$PINOT_CONTROLLER_URL/segments/TABLE/SEGMENT/reload?forceDownload=true"
        steps.append(NextStep(text, (f'curl -X POST "{url}"',)))
    if tables := _tables_with(audits, {Fault.FEW_COPIES}):
        text = "There are too few good copies: start what is down, or raise the replication and rebalance."
        commands = tuple(f"pinotctl table state {table} --differences" for table in tables[:_NAMED])
        steps.append(NextStep(text, commands))
    if _tables_with(audits, {Fault.NOT_CHECKED}):
        text = "The store could not be read from here: check its credentials, or name it with --store."
        steps.append(NextStep(text))
    if silent := sorted({server for audit in audits for server, _ in audit.silent}):
        named = ", ".join(silent[:_NAMED]) + (", ..." if len(silent) > _NAMED else "")
        steps.append(NextStep(f"Which copies {named} has is not known, since it did not answer: start it."))
    if steps:
        steps.append(NextStep("Then audit again.", ("pinotctl deepstore audit",)))
    return steps


def _tables_with(audits: Sequence[TableAudit], faults: Collection[Fault]) -> list[str]:
    """The tables that have one of the faults, each as a word of a command."""
    return [
        shlex.quote(audit.table)
        for audit in audits
        if any(finding.fault in faults for each in audit.faulty for finding in each.findings)
    ]
