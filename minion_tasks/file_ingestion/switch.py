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
from controller_client.lineage import LineageState
from controller_client.replacement import SegmentReplacement
from minion_tasks.file_ingestion.session import StagedSegment
from minion_tasks.filestore import FileStore, scheme_of

logger = logging.getLogger(__name__)

_PARALLEL_PUSHES = 4


def switch(
    client: ControllerClient,
    table: str,
    segments: Sequence[StagedSegment],
    staging: FileStore,
    *,
    push_mode: str,
    on_entry: Callable[[str], None] = lambda _entry_id: None,
) -> str | None:
    """Publish the staged segments atomically.

    Args:
        client: The controller.
        table: Table name with type.
        segments: All staged segments of the session.
        staging: The store they lie in.
        push_mode: ``METADATA`` (the controller copies the tar within the store) or ``TAR`` (it is sent
            through the controller).
        on_entry: Called with the lineage entry's id as soon as it is known.

    Returns:
        The id of the lineage entry.

    Raises:
        NotAppliedError: The table serves what it served before.
        OutcomeUnknownError: The controller's last word is not known; run the switch again.
    """
    names = [segment.name for segment in segments]
    # The names are in the staged segments, and a revert would use them up: an entry that failed waits for the
    # next run, which goes on with it. Queries see none of its segments meanwhile.
    with SegmentReplacement(client, table, [], names, keep_on_error=True) as replacement:
        if replacement.entry_id is not None:
            on_entry(replacement.entry_id)
        if replacement.state is LineageState.COMPLETED:
            logger.info("the segments of %s had been switched already", table)
        else:
            _push_missing(client, table, segments, staging, push_mode)
    return replacement.entry_id


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
    missing = [segment for segment in segments if segment.name not in there]
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
