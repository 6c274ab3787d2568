"""What a trigger finds in source and table, the resulting plan, and whether the lineage has room for it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from controller_client.common.names import TableName
from controller_client.common.text import counted_text, visible
from controller_client.errors import SourceError
from controller_client.filestore import FileInfo
from controller_client.publishing.lineage_size import check_lineage_size
from controller_client.zookeeper import PropertyStore
from minion_tasks.file_ingestion.engine.staging import is_below
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.ingested import TableContents, read_contents
from minion_tasks.file_ingestion.plan.planner import (
    LeftOut,
    Selection,
    SourcePlan,
    plan_source,
    read_alongside,
    replaced_by,
    select,
)
from minion_tasks.file_ingestion.run.types import RunTools
from minion_tasks.file_ingestion.session.model import FileGroup, IngestionMode
from minion_tasks.file_ingestion.session.naming import new_session_id
from minion_tasks.sources.base import Columns, SourceListing, SourceVersion, columns_read

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


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SourceView:
    """A snapshot of source and table.

    Attributes:
        listed: The source's files that match the patterns, by URI.
        contents: The table's contents as queries see them.
        plan: What to read and replace.
        by_patterns: Files that the patterns exclude.
        hidden: Files that are hidden, and so not data.
        version: The version of the lakehouse table; None for a folder.
        source_rows: How many rows the version has by its metadata, which may count deleted ones.
    """

    mode: IngestionMode
    listed: Mapping[str, FileInfo]
    contents: TableContents
    plan: SourcePlan
    by_patterns: LeftOut = LeftOut()
    hidden: LeftOut = LeftOut()
    version: SourceVersion | None = None
    source_rows: int | None = None

    @property
    def left_as_they_are(self) -> tuple[str, ...]:
        """Files that stay in the table in an older version, in append mode."""
        if self.mode is not IngestionMode.APPEND:
            return ()
        return tuple(file.uri for file in self.plan.diff.changed)

    def replaced_by(self, staged: Collection[str]) -> list[str]:
        """Return the segments that the segments of the staged files replace."""
        return replaced_by(self.mode, staged, self.listed, self.contents)

    @property
    def in_place(self) -> Mapping[str, str]:
        """Maps URIs to segments with this file only, which its next version may replace in place."""
        return {uris[0]: name for name, uris in self.contents.uris_of.items() if len(uris) == 1}

    def joining(self, groups: Iterable[FileGroup]) -> list[FileInfo]:
        """Return the files that are added to a session when a trigger resumes it."""
        joined = {entry.file.uri for group in groups for entry in group.entries}
        alongside = read_alongside(self.mode, joined, self.listed, self.contents)
        wanted = {file.uri: file for file in (*self.plan.to_read, *alongside)}
        return [file for uri, file in sorted(wanted.items()) if uri not in joined]


def view_source(
    tools: RunTools,
    table: TableName,
    params: FileIngestionParams,
    staging_root: str,
    version: SourceVersion | None = None,
) -> SourceView:
    """List the source and read the table's metadata.

    Args:
        tools: What the run works with.
        table: Name with type.
        params: The parameters of the table's task.
        staging_root: The folder whose files are no source files.
        version: Of a lakehouse table, list this version; None: the current one.

    Raises:
        SourceError: The source cannot be listed.
    """
    listing, selected = _listed(tools, table, params, staging_root, version)
    contents = read_contents(tools.client, tools.store, table)
    view = SourceView(
        params.mode,
        selected.files,
        contents,
        plan_source(params.mode, list(selected.files.values()), contents),
        selected.by_patterns,
        selected.hidden,
        listing.version,
        listing.rows,
    )
    left = view.left_as_they_are
    if left:
        logger.info(
            "%d files changed after they were ingested; append mode does not read them again: %s ...",
            len(left),
            visible(left[0]),
        )
    return view


def _listed(
    tools: RunTools,
    table: TableName,
    params: FileIngestionParams,
    staging_root: str,
    version: SourceVersion | None,
) -> tuple[SourceListing, Selection]:
    if params.is_lakehouse:
        listing = params.stores.source.list(_columns(tools, table), version)
        # All of its units are data, whatever the paths of their files.
        return listing, Selection({file.uri: file for file in listing.files})
    listing = params.stores.source.list(None)
    # The staging folder may be inside the source folder; files staged by other runs are not source files.
    files = (file for file in listing.files if not is_below(file.uri, staging_root))
    return listing, select(files, params.input_dir_uri, params.include, params.exclude)


def _columns(tools: RunTools, table: TableName) -> Columns:
    config = tools.client.tables.get(table)
    return columns_read(config.to_json(), tools.client.schemas.of_table(config).to_json())


def check_not_empty(view: SourceView, params: FileIngestionParams) -> None:
    """Reject a source without matching files if that is probably a mistake.

    That is the case if the patterns exclude files, if sync or swap would remove everything from the table,
    and always in append and update mode.

    Raises:
        SourceError: That is the case, and the parameter ``allowEmptySource`` is not set.
    """
    if view.listed or params.allow_empty:
        return
    removed = len(view.plan.replaced)
    excluded, hidden = view.by_patterns.files, view.hidden.files
    if not (removed or excluded or not params.mode.removes):
        return
    folder = visible(params.input_dir_uri)
    intended = ""
    if removed:
        intended = "; to empty the table intentionally, set allowEmptySource to true"
    effect = f"; ingesting it would remove all {counted_text(removed, 'segment')}" if removed else ""
    if not (excluded or hidden):
        raise SourceError(
            f"no files in {folder}{effect}",
            expected="at least one file",
            remedy=f"check what happened to the files, or fix inputDirURI{intended}",
        )
    if not excluded:
        raise SourceError(
            f"no data in {folder}: it has only {counted_text(hidden, 'hidden file')}{effect}",
            expected="a file whose name begins with neither . nor _, nor those of the folders around it",
            where=f"hidden: {view.hidden.examples}",
            remedy="rename the files, or spell the beginning of their names out in includeFileNamePattern,"
            f" such as glob:**/_late/*.csv{intended}",
        )
    others = f" except {counted_text(hidden, 'hidden file')}" if hidden else ""
    raise SourceError(
        f"no file in {folder} matches: the patterns exclude all {excluded + hidden:,}{others}{effect}",
        expected=f"includeFileNamePattern {params.include}, excludeFileNamePattern {params.exclude}",
        where=f"excluded: {view.by_patterns.examples}",
        remedy=f"patterns must match the whole path; start them with glob:**/{intended}",
    )
