"""Pause and resume of single partitions, on servers that are hosted in Python.

No version of Pinot can do this: a stock controller creates the next consuming segment after each commit. The
request is therefore written to the ideal state (``pausedPartitions``). The hook ``partition-pause`` of each
server keeps the partition's consuming segment at its start offset, and reports it. A stock server would keep
consuming, so the request is refused if the table has one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from controller_client.common.names import SegmentName, TableName
from controller_client.common.waiting import wait_until
from controller_client.consumption.state.partition_record import (
    PartitionReport,
    note_partitions,
    read_partition_pauses,
    read_reports,
)
from controller_client.consumption.state.pause_record import Holder
from controller_client.consumption.table_control import TableControl
from controller_client.errors import ConfigError, UnsupportedError
from controller_client.helix import live_session
from controller_client.helix.ideal_state import (
    IdealState,
    read_external_view,
    read_ideal_state,
    set_paused_partitions,
)
from controller_client.helix.stream_segments import newest_by_partition
from controller_client.zookeeper import PropertyStore

__all__ = ["check_pause", "pause_partitions", "resume_partitions"]


def pause_partitions(
    control: TableControl,
    partitions: Collection[int],
    *,
    reason: str | None = None,
    comment: str | None = None,
    wait: bool = True,
    timeout_s: float = 300.0,
) -> bool:
    """Pause partitions and wait until every server has stopped consuming them; any number of callers may.

    What was consumed until then is committed. Rows that arrive later are not indexed before
    :func:`resume_partitions`.

    Args:
        control: The table.
        partitions: Partition groups.
        reason: Short reason for the pause.
        comment: Free text.
        wait: Wait until they are paused; otherwise only write the request.
        timeout_s: Seconds until the last check.

    Returns:
        Whether one of them was not paused before.

    Raises:
        ConfigError: The table has no such partition.
        UnsupportedError: A server is not hosted in Python. Nothing was changed.
        WaitTimeoutError: Some servers still consume. The request remains, and they keep trying.
        OutcomeUnknownError: The reply to the change was lost.
    """
    requested = frozenset(partitions)
    store, table = control.store, control.table
    ideal = check_pause(control, requested)
    mine = Holder(control.by, control.now_ms(), reason, comment)
    note_partitions(store, table, ideal.flags.paused_partitions, mine, requested)
    set_paused_partitions(store, table, lambda paused: paused | requested)
    if wait:
        wait_until(
            lambda: _still_consuming(control, requested),
            what=f"partitions {_list(requested)} of {table} to be paused",
            timeout_s=timeout_s,
            clock=control.clock,
            first_poll_s=0.05,
            remedy="see the logs of these servers; the request remains, and they keep trying",
        )
    return not requested <= ideal.flags.paused_partitions


def check_pause(control: TableControl, partitions: Collection[int]) -> IdealState:
    """Check that partitions can be paused; return the ideal state. Errors as for :func:`pause_partitions`."""
    wanted = frozenset(partitions)
    ideal = control.ideal()
    _check_partitions(control.table, wanted, ideal)
    _check_hosted(control.store, control.table, wanted, ideal)
    return ideal


def resume_partitions(
    control: TableControl, partitions: Collection[int], *, wait: bool = True, timeout_s: float = 300.0
) -> bool:
    """Resume paused partitions where they stopped, and wait until every server has released them.

    Args:
        control: The table.
        partitions: Partition groups; those that are not paused are ignored.
        wait: Wait until every server has released them.
        timeout_s: Seconds until the last check.

    Returns:
        Whether one of them was paused.

    Raises:
        NotFoundError: There is no such table.
        WaitTimeoutError: Some servers have not released them yet.
        OutcomeUnknownError: The reply to the change was lost.
        FormatVersionError: A server of a later release wrote its report; nothing was changed.
    """
    requested = frozenset(partitions)
    store, table = control.store, control.table
    if wait:
        read_reports(store)  # raises before anything is changed, if a report cannot be read
    before = control.ideal().flags.paused_partitions
    set_paused_partitions(store, table, lambda paused: paused - requested)
    if wait:
        wait_until(
            lambda: _unreleased(read_reports(store), table, requested),
            what=f"partitions {_list(requested)} of {table} to be released",
            timeout_s=timeout_s,
            clock=control.clock,
            first_poll_s=0.05,
            remedy="see the logs of these servers",
        )
    return bool(requested & before)


def _check_partitions(table: TableName, wanted: frozenset[int], ideal: IdealState) -> None:
    present = newest_by_partition(ideal.segments).keys()
    unknown = wanted - present
    if unknown or not wanted:
        raise ConfigError(
            f"{table} has no partition {_list(unknown)}" if unknown else "no partition was named",
            expected=f"some of the partitions {_list(present)}",
        )


def _check_hosted(store: PropertyStore, table: TableName, wanted: frozenset[int], ideal: IdealState) -> None:
    hosted = read_reports(store).keys()
    newest = newest_by_partition(ideal.segments)
    servers = {name for partition in wanted for name in ideal.segments[newest[partition].name]}
    servers.update(name for instances in ideal.consuming.values() for name in instances)
    stock = sorted(servers - hosted)
    if stock:
        raise UnsupportedError(
            f"single partitions of {table} cannot be paused: {', '.join(stock)} would keep consuming them",
            expected="every server of the table hosted in Python, with the hook partition-pause",
            remedy="start these servers with 'pinotctl serve server', or pause the whole table",
        )


def _still_consuming(control: TableControl, partitions: frozenset[int]) -> str | None:
    store, table = control.store, control.table
    ideal, view = read_ideal_state(store, table), read_external_view(store, table)
    late = [
        f"partition {partition} still consumes on {', '.join(_described(store, name) for name in names)}"
        for partition, names in read_partition_pauses(store, table, ideal).consuming_on.items()
        if partition in partitions
    ]
    return "; ".join([*late, *_unsealed(ideal, view, partitions), *_unbuilt(control, partitions)]) or None


def _described(store: PropertyStore, server: str) -> str:
    """Return a server's name; one without a session may still run, and confirms when it is back."""
    return server if live_session(store, server) else f"{server}, which is not connected to the cluster"


def _unbuilt(control: TableControl, partitions: frozenset[int]) -> list[str]:
    """List the segments of a pauseless table that have ended and whose rows are only in memory."""
    return [
        f"{each.segment.name} is consumed, but not yet built"
        for each in control.committing()
        if each.segment.partition in partitions
    ]


def _unsealed(
    ideal: IdealState, view: Mapping[str, Mapping[str, str]], partitions: frozenset[int]
) -> list[str]:
    """List earlier segments that a server has not yet replaced with the committed rows.

    Such a replica may be ahead of what was committed, and would return rows that the others do not have.
    """
    return [
        f"{server} has not sealed {segment.name}"
        for segment in filter(None, map(SegmentName.parse, view))
        if segment.partition in partitions and segment.name not in ideal.consuming
        for server, state in sorted(view[segment.name].items())
        if state == "CONSUMING"
    ]


def _unreleased(
    reports: Mapping[str, PartitionReport], table: TableName, partitions: frozenset[int]
) -> str | None:
    late = [
        f"{name} has not released partition {partition}"
        for name, report in sorted(reports.items())
        for partition in sorted(partitions & report.paused.get(table, {}).keys())
    ]
    return "; ".join(late) or None


def _list(partitions: Collection[int]) -> str:
    return ", ".join(map(str, sorted(partitions)))
