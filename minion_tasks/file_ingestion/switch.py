"""The switch: all staged segments of a session become the table's in one step.

Safe to run again at any point: the lineage entry that an interrupted run left is found by its segments, and
what it has already pushed is not pushed again.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

from controller_client.client import ControllerClient
from controller_client.errors import PinotPluginError
from controller_client.filestore import FileStore, scheme_of
from controller_client.lineage import LineageState
from controller_client.replacement import SegmentReplacement
from controller_client.routing import wait_routed
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.session import StagedSegment

logger = logging.getLogger(__name__)

_PARALLEL_PUSHES = 4
_ONLINE_S = 600.0
_ROUTED_S = 30.0


def switch(
    client: ControllerClient,
    store: PropertyStore,
    table: str,
    segments: Sequence[StagedSegment],
    replaced: Sequence[str],
    staging: FileStore,
    *,
    push_mode: str,
    on_entry: Callable[[str], object] = lambda _entry_id: None,
    keep_on_error: bool = True,
) -> int:
    """Publish the staged segments atomically, and take the replaced ones out.

    Queries made afterwards see it: brokers learn of it some moments after the controller, so it waits up to
    30 s for them. One that needs longer, or does not answer, is no error.

    Args:
        client: The controller.
        store: ZooKeeper.
        table: Table name with type.
        segments: All staged segments of the session.
        replaced: Segments that go.
        staging: The store they lie in.
        push_mode: ``METADATA`` (the controller copies the tar within the store) or ``TAR`` (it is sent
            through the controller).
        on_entry: Called with the lineage entry's id as soon as it is known.
        keep_on_error: The names are used up by a revert: an entry that failed waits for the next run, which
            goes on with it. Queries see none of its segments meanwhile. False reverts it at once.

    Returns:
        How many segments went.

    Raises:
        NotAppliedError: The table serves what it served before.
        OutcomeUnknownError: The controller's last word is not known; run the switch again.
    """
    names = [segment.name for segment in segments]
    gone = _still_there(client, table, names, replaced)
    with SegmentReplacement(
        client, table, gone, names, store=store, keep_on_error=keep_on_error
    ) as replacement:
        if replacement.entry_id is not None:
            on_entry(replacement.entry_id)
        if replacement.state is LineageState.COMPLETED:
            logger.info("the segments of %s had been switched already", table)
        else:
            _push_missing(client, table, segments, staging, push_mode)
    _wait_for_brokers(client, table, segments, gone)
    return len(gone)


def _wait_for_brokers(
    client: ControllerClient, table: str, segments: Sequence[StagedSegment], gone: Sequence[str]
) -> None:
    came = [segment.name for segment in segments if segment.rows]
    try:
        wait_routed(client, table, present=came, absent=gone, timeout_s=_ROUTED_S)
    except PinotPluginError as error:
        logger.warning("%s: the rows are there, but brokers may not see them yet: %s", table, error)


def _still_there(
    client: ControllerClient, table: str, names: Sequence[str], replaced: Sequence[str]
) -> Sequence[str]:
    """Return what an open entry of these names replaces, or what of the list queries still see.

    Between the plan and the entry, somebody (Pinot's own retention among them) may have deleted a segment.
    """
    for entry in client.lineage.list(table):
        if entry.live and names and set(entry.segments_to) == set(names):
            return entry.segments_from
    if not replaced:
        return ()
    visible = set(client.segments.list(table, exclude_replaced=True))
    return [name for name in replaced if name in visible]


def push_one_by_one(
    client: ControllerClient,
    table: str,
    segments: Sequence[StagedSegment],
    replaced: Sequence[str],
    staging: FileStore,
    *,
    push_mode: str,
) -> int:
    """Publish without a lineage entry: each segment is seen as soon as servers have it.

    A segment of a name that the table has replaces it in place; the other replaced ones are deleted when all
    new ones are online. Returns how many were deleted.
    """
    if segments:
        _push_missing(client, table, segments, staging, push_mode)
        client.segments.wait_online(table, [segment.name for segment in segments], _ONLINE_S)
    there = set(client.segments.list(table, exclude_replaced=False))
    gone = there.intersection(replaced).difference(segment.name for segment in segments)
    client.segments.delete(table, gone)
    return len(gone)


def was_reverted(client: ControllerClient, table: str, names: Sequence[str]) -> bool:
    """Tell whether the entry of an earlier switch was reverted, by hand or by Pinot's cleaning after a day.

    Its segments' names are then used up: Pinot hides segments of such names.
    """
    entries = client.lineage.list(table)
    wanted = set(names)
    return any(not entry.live and wanted & set(entry.segments_to) for entry in entries) and not any(
        entry.live and wanted == set(entry.segments_to) for entry in entries
    )


def _push_missing(
    client: ControllerClient,
    table: str,
    segments: Sequence[StagedSegment],
    staging: FileStore,
    push_mode: str,
) -> None:
    there = set(client.segments.list(table, exclude_replaced=False))
    missing = [
        segment
        for segment in segments
        # One of the same name may be an older one, that this one refreshes in place.
        if segment.name not in there or client.segments.metadata(table, segment.name).crc != segment.crc
    ]
    mode = _effective_mode(client, push_mode, segments)

    def push(segment: StagedSegment) -> None:
        _push(client, table, segment, staging, mode)

    with ThreadPoolExecutor(_PARALLEL_PUSHES, thread_name_prefix="push") as pool:
        for _ in pool.map(push, missing):
            pass


def _effective_mode(client: ControllerClient, push_mode: str, segments: Sequence[StagedSegment]) -> str:
    """Metadata push needs staging and deep store on one kind of store: the controller copies between them."""
    if push_mode == "TAR" or not segments:
        return "TAR"
    deep_store = client.cluster.deep_store_uri()
    if deep_store is None or scheme_of(deep_store) != scheme_of(segments[0].tar_uri):
        logger.warning(
            "segments are sent through the controller: staging is not on its deep store (%s)", deep_store
        )
        return "TAR"
    return "METADATA"


def _push(
    client: ControllerClient, table: str, segment: StagedSegment, staging: FileStore, mode: str
) -> None:
    uri = segment.metadata_uri if mode == "METADATA" else segment.tar_uri
    with tempfile.TemporaryDirectory(prefix="pinot-push-") as folder:
        path = Path(folder) / f"{segment.name}.tar.gz"
        staging.download(uri, path)
        if mode == "METADATA":
            # Ours are not percent-encoded, Pinot's are.
            scheme, colon, rest = segment.tar_uri.partition(":")
            uri = f"{scheme}{colon}{quote(rest)}"
            client.segments.push_metadata(table, path, uri, copy_to_deep_store=True)
        else:
            client.segments.upload_tar(table, path)
