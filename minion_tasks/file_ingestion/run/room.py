"""Checks, before any file is read, whether the replacement that a run plans fits into the table's lineage."""

from __future__ import annotations

from controller_client.common.names import TableName
from controller_client.publishing.lineage_size import check_lineage_size
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.planner import SourcePlan
from minion_tasks.file_ingestion.session.naming import new_session_id

__all__ = ["check_room"]


def check_room(store: PropertyStore, table: TableName, params: FileIngestionParams, plan: SourcePlan) -> None:
    """Raise an error if the lineage has no room for the replacement that a run plans.

    In sync mode each file is one segment. In other modes the number of segments is not known yet, and one is
    assumed. The check is repeated with the actual names when all segments are staged, before the first push.

    Args:
        store: ZooKeeper.
        table: Name with type.
        params: The parameters of the table's task.
        plan: The run's plan.

    Raises:
        LineageFullError: There is no room.
        UnreachableError: ZooKeeper does not answer.
    """
    if not params.atomic or plan.is_nothing:
        return
    count = len(plan.to_read) if params.one_to_one else 1
    session_id = new_session_id(0)
    names = [params.names.of_session(table.raw, session_id, number) for number in range(count)]
    check_lineage_size(store, table, plan.replaced, names)
