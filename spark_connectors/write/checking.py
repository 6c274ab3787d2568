"""Judges what a write has staged by its checks, before the commit publishes it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from controller_client.client import ControllerClient
from controller_client.common.names import TableName
from controller_client.common.text import indented_lines
from controller_client.models import SegmentMetadata
from controller_client.publishing.checks.judgement import ChecksFailedError, RowCounts, failed_checks
from controller_client.publishing.checks.live import LiveValues
from controller_client.publishing.checks.staged import describe_staged
from controller_client.publishing.staged_segment import StagedSegment
from controller_client.rest.lineage import TableView
from controller_client.zookeeper import PropertyStore, read_segment_records
from spark_connectors.write.plan import WritePlan

__all__ = ["check_staged"]


def check_staged(
    plan: WritePlan,
    client: ControllerClient,
    store: PropertyStore,
    view: TableView,
    segments: Sequence[StagedSegment],
    replaced: Sequence[str],
) -> None:
    """Raise an error unless the staged segments pass the checks of the write.

    Args:
        plan: The write.
        client: The controller.
        store: The cluster's property store.
        view: The table's segments, read with its lock held.
        segments: The staged segments.
        replaced: Names of the segments that they replace.

    Raises:
        ChecksFailedError: They do not pass; the table is unchanged.
        SourceError: The store of the staged segments does not answer.
    """
    rows = RowCounts(
        sum(segment.rows for segment in segments),
        view.visible,
        replaced,
        lambda: _rows_of(store, plan.table, view.visible),
    )
    staged = describe_staged(plan.staging_store, segments)
    reasons = failed_checks(plan.checks(), rows, staged, LiveValues(client, plan.table))
    if reasons:
        raise ChecksFailedError(
            f"the write {plan.write_id} does not pass the checks; {plan.table} is unchanged:\n"
            f"  {indented_lines(reasons)}",
            remedy="fix the DataFrame, or the checks, and write it again",
        )


def _rows_of(store: PropertyStore, table: TableName, visible: Collection[str]) -> Mapping[str, int]:
    records = read_segment_records(store, table, sorted(visible))
    return {name: SegmentMetadata.from_json(record.simple_fields).total_docs or 0 for name, record in records}
