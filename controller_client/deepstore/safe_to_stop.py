"""Whether servers can be stopped, drained or rebalanced without a segment losing its last good copy."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from controller_client.common.names import TableName
from controller_client.deepstore.audit import Auditor
from controller_client.deepstore.judge import Judgement
from controller_client.errors import NotFoundError
from controller_client.rest.client import RestClient

__all__ = ["AtRisk", "Safety", "SegmentState", "judge_servers", "safe_to_stop"]


class SegmentState(StrEnum):
    """The state of a segment."""

    CONSUMING = "consuming"
    """Its rows are in the stream, for as long as the stream keeps them; another server reads them again."""
    COMMITTING = "committing"
    """Its rows are in the stream too, but consumption is past them (pauseless tables of Pinot 1.4 and later).
    If no server builds the segment, they are missing until they are consumed again."""
    COMMITTED = "committed"


@dataclass(frozen=True)
class AtRisk:
    """A segment that depends on the servers.

    Attributes:
        table: Name with type.
        segment: Name.
        state: Its state.
        reason: Why no other copy counts.
    """

    table: TableName
    segment: str
    state: SegmentState
    reason: str


@dataclass(frozen=True)
class Safety:
    """What stopping servers at the same time would put at risk.

    Attributes:
        servers: Names of the instances.
        segments: Number of their committed segments that were checked.
        at_risk: Segments without another copy that is known to be good.
        silent: Other servers that did not report their checksums, and why.
    """

    servers: tuple[str, ...]
    segments: int
    at_risk: tuple[AtRisk, ...]
    silent: tuple[tuple[str, str], ...] = ()

    @property
    def safe(self) -> bool:
        """Whether every committed segment has another good copy, and none is being built only there."""
        return all(each.state is SegmentState.CONSUMING for each in self.at_risk)

    def count(self, state: SegmentState) -> int:
        """Return how many of the segments that depend on the servers are in a state."""
        return sum(each.state is state for each in self.at_risk)


def safe_to_stop(
    client: RestClient, auditor: Auditor, servers: Sequence[str], down: Collection[str] = ()
) -> Safety:
    """Check all segments that servers have; nothing is changed.

    The result holds for the moment, and for stopping these servers and no others: whoever stops another one
    has to name all of them, or all reserve theirs (see :mod:`.reservations`).

    Args:
        client: Client of the cluster.
        auditor: Audits copies.
        servers: Names of the instances that would be stopped at the same time.
        down: Other instances whose copies do not count either.

    Raises:
        NotFoundError: There is no server of one of these names.
        NotAppliedError: The controller or ZooKeeper does not answer.
    """
    instances = client.instances.list()
    if missing := [name for name in servers if name not in instances]:
        known = ", ".join(name for name in instances if name.startswith("Server_"))
        raise NotFoundError(
            f"there is no server {', '.join(missing)}", expected=f"one of {known or '(none)'}"
        )
    stopped = {*servers, *down}
    segments = 0
    at_risk: list[AtRisk] = []
    silent: dict[str, str] = {}
    for table in auditor.tables():
        try:
            ideal = client.tables.ideal_state(table)
            names = sorted(name for name, states in ideal.items() if not states.keys().isdisjoint(servers))
            judged, not_reporting = auditor.judge(table, names) if names else ([], {})
        except NotFoundError:
            continue  # the table was dropped after the tables were listed
        segments += sum(not each.record.consuming for each in judged)
        at_risk += [risk for each in judged if (risk := judge_servers(each, stopped)) is not None]
        silent |= not_reporting
    others = {name: why for name, why in silent.items() if name not in stopped}
    return Safety(tuple(servers), segments, tuple(at_risk), tuple(sorted(others.items())))


def judge_servers(judged: Judgement, servers: Collection[str]) -> AtRisk | None:
    """Return the risk if a segment depends on servers that stop together, else None. Pure.

    A server counts as having the segment in any state, not only ONLINE: its disk may have the only copy.

    Args:
        judged: The segment.
        servers: Names of the instances that would stop.
    """
    record = judged.record
    others = [replica for replica in judged.replicas if replica.server not in servers]
    if record.consuming:
        # A server that has built a committing segment already has it ONLINE.
        if any(replica.state in ("CONSUMING", "ONLINE") for replica in others):
            return None
        if record.committing:
            reason = "it is fully consumed, and no other server has the rows to build it from"
            return AtRisk(record.table, record.segment, SegmentState.COMMITTING, reason)
        return AtRisk(record.table, record.segment, SegmentState.CONSUMING, "no other server consumes it")
    if judged.stored_well or any(replica.is_good(record) for replica in others):
        return None
    reasons = [finding.detail for finding in judged.findings]
    unknown = ", ".join(replica.server for replica in others if replica.is_good(record) is None)
    if unknown:
        reasons.append(f"no checksum from {unknown}, so this copy does not count")
    reason = "; ".join(reasons) or "there is no other copy"
    return AtRisk(record.table, record.segment, SegmentState.COMMITTED, reason)
