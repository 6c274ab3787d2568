"""The source and the table as a trigger finds them, and what its mode makes of the difference."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from controller_client.common.counted_text import counted_text
from controller_client.common.names import TableName
from controller_client.common.visible_text import visible
from controller_client.errors import SourceError
from controller_client.filestore import FileInfo
from minion_tasks.file_ingestion.engine.staging import is_below
from minion_tasks.file_ingestion.params.patterns import path_of
from minion_tasks.file_ingestion.params.table_params import FileIngestionParams
from minion_tasks.file_ingestion.plan.ingested import TableContents, read_contents
from minion_tasks.file_ingestion.plan.planner import SourcePlan, plan_source, read_beside, replaced_by, select
from minion_tasks.file_ingestion.run.types import RunTools
from minion_tasks.file_ingestion.session.model import FileGroup, IngestionMode

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SourceView:
    """One look at both.

    Attributes:
        listed: The source's files that the patterns take, by URI.
        contents: What queries see in the table.
        plan: What is to be done.
        left_out: How many files the patterns leave out.
        left_out_first: Some of these.
    """

    mode: IngestionMode
    listed: Mapping[str, FileInfo]
    contents: TableContents
    plan: SourcePlan
    left_out: int = 0
    left_out_first: tuple[FileInfo, ...] = ()

    @property
    def left_as_they_are(self) -> tuple[str, ...]:
        """Files that are in the table in an older version and stay so, in append mode."""
        if self.mode is not IngestionMode.APPEND:
            return ()
        return tuple(file.uri for file in self.plan.diff.changed)

    def replaced_by(self, staged: Collection[str]) -> list[str]:
        """Return the segments that go when segments of the staged files come."""
        return replaced_by(self.mode, staged, self.listed, self.contents)

    @property
    def in_place(self) -> Mapping[str, str]:
        """URIs of files to the segments of theirs alone, which their next version may replace in place."""
        return {uris[0]: name for name, uris in self.contents.uris_of.items() if len(uris) == 1}

    def joining(self, groups: Iterable[FileGroup]) -> list[FileInfo]:
        """Return the files that join a session which a trigger resumes."""
        held = {entry.file.uri for group in groups for entry in group.entries}
        beside = read_beside(self.mode, held, self.listed, self.contents)
        wanted = {file.uri: file for file in (*self.plan.to_read, *beside)}
        return [file for uri, file in sorted(wanted.items()) if uri not in held]


def view_source(
    tools: RunTools, table: TableName, params: FileIngestionParams, staging_root: str
) -> SourceView:
    """List the source and read the table's metadata.

    Raises:
        SourceError: The source cannot be listed.
    """
    files = params.stores.source.list(params.input_dir_uri)
    # The staging folder may lie in the source folder; what other runs stage there is no source file.
    found = (file for file in files if not is_below(file.uri, staging_root))
    selected = select(found, params.include, params.exclude)
    contents = read_contents(tools.client, tools.store, table)
    view = SourceView(
        params.mode,
        selected.files,
        contents,
        plan_source(params.mode, list(selected.files.values()), contents),
        selected.left_out,
        selected.left_out_first,
    )
    left = view.left_as_they_are
    if left:
        logger.info(
            "%d files changed after they were ingested; append mode leaves them: %s ...",
            len(left),
            visible(left[0]),
        )
    return view


def check_not_empty(view: SourceView, params: FileIngestionParams) -> None:
    """Refuse a source without a file where that is more likely a mistake than meant.

    That is so where the patterns leave out all files that there are, where sync or swap would take everything
    out of the table, and in append mode always.

    Raises:
        SourceError: It is so, and the parameter ``allowEmptySource`` does not declare that it is meant.
    """
    if view.listed or params.allow_empty:
        return
    goes = len(view.plan.replaced)
    if not (goes or view.left_out or params.mode is IngestionMode.APPEND):
        return
    folder = visible(params.input_dir_uri)
    meant = ""
    if goes:
        meant = "; to empty the table anyway, set allowEmptySource to true"
    then = f", and all {counted_text(goes, 'segment')} would be deleted" if goes else ""
    if not view.left_out:
        raise SourceError(
            f"there is no file below {folder}{then}",
            expected="at least one file",
            remedy=f"check what happened to the files, or fix inputDirURI{meant}",
        )
    first = ", ".join(visible(path_of(file.uri)) for file in view.left_out_first)
    raise SourceError(
        f"no file below {folder} matches: the patterns leave out all {view.left_out:,}{then}",
        expected=f"includeFileNamePattern {params.include}, excludeFileNamePattern {params.exclude}",
        where=f"the first of them: {first}",
        remedy=f"patterns are matched against whole paths: begin them with glob:**/{meant}",
    )
