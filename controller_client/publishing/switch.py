"""The switch: publishes all staged segments of a session in one step.

It is safe to rerun at any point: the lineage entry of an interrupted run is found by its segments, and
segments that it has already pushed are not pushed again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from controller_client.common.names import TableName
from controller_client.errors import NotAppliedError, PinotPluginError
from controller_client.filestore import FileStore
from controller_client.publishing.lineage_size import check_lineage_size
from controller_client.publishing.loading import SegmentLoading
from controller_client.publishing.pushing import Pushing
from controller_client.publishing.replacement import SegmentReplacement
from controller_client.publishing.routing import wait_routed
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.rest.client import RestClient
from controller_client.rest.delete_risks import OF_REPLACED
from controller_client.rest.lineage import LineageEntry, LineageState, TableView
from controller_client.zookeeper import PropertyStore

logger = logging.getLogger(__name__)

_ONLINE_S = 600.0
_ROUTED_S = 30.0


@dataclass(frozen=True)
class Switched:
    """The result of a switch.

    Attributes:
        replaced: Number of replaced segments.
        behind: Number of missing new segments by server at the end; empty if all replicas were awaited.
    """

    replaced: int
    behind: Mapping[str, int] = field(default_factory=dict)


def switch(
    client: RestClient,
    store: PropertyStore,
    table: TableName,
    segments: Sequence[StagedSegment],
    replaced: Sequence[str],
    staging: FileStore,
    *,
    push_mode: str,
    on_entry: Callable[[str], object] = lambda _entry_id: None,
    min_replicas: int | None = None,
    keep_on_error: bool = True,
    view: TableView | None = None,
) -> Switched:
    """Publish the staged segments atomically, and remove the replaced ones.

    Segments that do not load, e.g. because the controller died during an earlier switch, are repaired
    (:mod:`controller_client.publishing.loading`). Queries made afterwards see the new segments: brokers learn
    of them a moment after the controller, so this waits up to 30 s for them. A broker that takes longer, or
    does not answer, is not an error.

    Args:
        client: The controller.
        store: ZooKeeper.
        table: Table name with type.
        segments: All staged segments of the session.
        replaced: Segments to replace.
        staging: The store with the staged segments.
        push_mode: A :class:`~controller_client.publishing.pushing.PushMode`.
        on_entry: Called with the lineage entry's id as soon as it is known.
        keep_on_error: Whether a failed entry stays open for the next run, which continues with it; queries
            see none of its segments meanwhile. False: it is reverted at once, after which its names cannot be
            reused.
        min_replicas: Number of replicas of each new segment that must serve, so that a dead server does not
            block the switch; None: all. If all replicas of a segment are on dead servers, it waits in any
            case.
        view: The table as the caller has just read it, under the table's lock; default: it is read here.

    Raises:
        LineageFullError: The table's lineage has no room for the replacement; nothing was pushed.
        NotAppliedError: The table still serves the old segments.
        OutcomeUnknownError: The outcome of a call is unknown; run the switch again.
    """
    names = [segment.name for segment in segments]
    pushing = Pushing(client, table, segments, staging, push_mode)
    view = view or client.lineage.view(table)
    earlier = _entry_of(view, names)
    if earlier is not None:
        gone = earlier.segments_from
    else:
        # A segment may have been deleted since the plan, e.g. by Pinot's own retention.
        gone = tuple(name for name in replaced if name in view.visible)
        if not gone and pushing.is_in(view.visible):
            # Retention removes a completed entry; for any other entry, it first deletes the new segments.
            logger.info("the segments of %s have already been switched; their lineage entry is gone", table)
            _wait_for_brokers(client, table, segments, replaced)
            return Switched(len(replaced), _behind(client, table, names, min_replicas))
        check_lineage_size(store, table, gone, names)
    with SegmentReplacement(
        client,
        table,
        gone,
        names,
        store=store,
        push_again=pushing.push,
        min_replicas=min_replicas,
        keep_on_error=keep_on_error,
        view=view,
    ) as replacement:
        if replacement.entry_id is not None:
            on_entry(replacement.entry_id)
        if replacement.state is LineageState.COMPLETED:
            logger.info("the segments of %s have already been switched", table)
        else:
            pushing.push_missing(view.existing)
    _wait_for_brokers(client, table, segments, gone)
    return Switched(len(gone), _behind(client, table, names, min_replicas))


def _behind(
    client: RestClient, table: TableName, names: Collection[str], min_replicas: int | None
) -> Mapping[str, int]:
    """Return the number of missing new segments by server, even if an earlier run has ended the entry."""
    if min_replicas is None:
        return {}
    try:
        behind = client.segments.load_state(table, names).behind
    except NotAppliedError as error:
        logger.warning("%s: cannot determine which servers are behind: %s", table, error.message)
        return {}
    for server, count in behind.items():
        logger.warning(
            "%s: %s lacks %d of %d new segments; 'pinotctl lineage doctor' shows when it has them",
            table,
            server,
            count,
            len(names),
        )
    return behind


def _wait_for_brokers(
    client: RestClient, table: TableName, segments: Sequence[StagedSegment], gone: Sequence[str]
) -> None:
    added = [segment.name for segment in segments if segment.rows]
    try:
        wait_routed(client, table, present=added, absent=gone, timeout_s=_ROUTED_S)
    except PinotPluginError as error:
        logger.warning("%s: the rows have been published, but brokers may not see them yet: %s", table, error)


def _entry_of(view: TableView, names: Sequence[str]) -> LineageEntry | None:
    """Return the live entry of an earlier run that adds segments with these names, if any."""
    added = set(names)
    own = (entry for entry in view.entries if entry.live and added and set(entry.segments_to) == added)
    return next(own, None)


def push_one_by_one(
    client: RestClient,
    store: PropertyStore,
    table: TableName,
    segments: Sequence[StagedSegment],
    replaced: Sequence[str],
    staging: FileStore,
    *,
    push_mode: str,
    min_replicas: int | None = None,
) -> Switched:
    """Publish without a lineage entry: each segment is visible as soon as servers have it.

    A segment with an existing name replaces that segment in place; the other replaced segments are deleted
    once all new ones, or ``min_replicas`` of each, are online.

    Raises:
        UnsafeDeleteError: Another writer is replacing or adding one of the replaced segments. This is checked
            before the first push, and again before the deletion.
    """
    names = [segment.name for segment in segments]
    client.segments.check_delete(table, set(replaced).difference(names), accept=OF_REPLACED)
    if segments:
        pushing = Pushing(client, table, segments, staging, push_mode)
        pushing.push_missing(client.segments.list(table, exclude_replaced=False))
        loading = SegmentLoading(client, table, store, pushing.push, min_replicas=min_replicas)
        loading.wait(names, _ONLINE_S)
    existing = set(client.segments.list(table, exclude_replaced=False))
    gone = existing.intersection(replaced).difference(names)
    client.segments.delete(table, gone, accept=OF_REPLACED)
    return Switched(len(gone), _behind(client, table, names, min_replicas) if names else {})


def was_reverted(client: RestClient, table: TableName, names: Sequence[str]) -> bool:
    """Return whether the entry of an earlier switch was reverted, manually or by Pinot's daily clean-up.

    The names of its segments then cannot be reused: Pinot hides segments with these names.
    """
    entries = client.lineage.list(table)
    wanted = set(names)
    return any(not entry.live and wanted & set(entry.segments_to) for entry in entries) and not any(
        entry.live and wanted == set(entry.segments_to) for entry in entries
    )
