"""Whether what a run plans fits into the table's lineage; asked before a file is read."""

from __future__ import annotations

from controller_client.common.names import TableName
from controller_client.publishing.lineage_size import check_lineage_size
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.planner import SourcePlan
from minion_tasks.file_ingestion.session.naming import new_session_id

__all__ = ["check_room"]


def check_room(store: PropertyStore, table: TableName, params: FileIngestionParams, plan: SourcePlan) -> None:
    """Raise if the lineage has no room for the replacement that a run plans.

    In sync mode each file is a segment; else how many come is known when they are built, and one is counted
    here. When all are staged it is asked once more, with their names, before the first is pushed.

    Args:
        store: ZooKeeper.
        table: Name with type.
        params: Of the table's task.
        plan: What the run is to do.

    Raises:
        LineageFullError: There is none.
        UnreachableError: ZooKeeper does not answer.
    """
    if not params.atomic or plan.is_nothing:
        return
    count = len(plan.to_read) if params.one_to_one else 1
    session_id = new_session_id(0)
    names = [params.names.of_session(table.raw, session_id, number) for number in range(count)]
    check_lineage_size(store, table, plan.replaced, names)
