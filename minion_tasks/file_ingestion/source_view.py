"""The source and the table as a trigger finds them, and what its mode makes of the difference."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from controller_client.errors import SourceError
from controller_client.filestore import FileInfo, open_store
from minion_tasks.file_ingestion.ingested import TableContents, read_contents
from minion_tasks.file_ingestion.params import FileIngestionParams
from minion_tasks.file_ingestion.planner import SourcePlan, plan_source, read_beside, replaced_by, select
from minion_tasks.file_ingestion.run_types import RunTools
from minion_tasks.file_ingestion.session import FileGroup, IngestionMode
from minion_tasks.file_ingestion.staging import is_below

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SourceView:
    """One look at both.

    Attributes:
        listed: The source's files that the patterns take, by URI.
        contents: What queries see in the table.
        plan: What is to be done.
    """

    mode: IngestionMode
    listed: Mapping[str, FileInfo]
    contents: TableContents
    plan: SourcePlan

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
        """Return the files that join a session which a trigger takes up."""
        held = {entry.file.uri for group in groups for entry in group.entries}
        beside = read_beside(self.mode, held, self.listed, self.contents)
        wanted = {file.uri: file for file in (*self.plan.to_read, *beside)}
        return [file for uri, file in sorted(wanted.items()) if uri not in held]


def view_source(tools: RunTools, table: str, params: FileIngestionParams, staging_root: str) -> SourceView:
    """List the source and read the table's metadata.

    Raises:
        SourceError: The source cannot be listed, or, in append mode, nothing in it matches.
    """
    source = open_store(params.input_dir_uri, params.input_fs)
    # The staging folder may lie in the source folder; what other runs stage there is no source file.
    found = (file for file in source.list(params.input_dir_uri) if not is_below(file.uri, staging_root))
    listed = {file.uri: file for file in select(found, params.include, params.exclude)}
    if not listed and params.mode is IngestionMode.APPEND:
        raise SourceError(
            f"no file below {params.input_dir_uri} matches",
            expected=f"includeFileNamePattern {params.include}, excludeFileNamePattern {params.exclude}",
            remedy="patterns are matched against the whole path: begin them with glob:**/",
        )
    contents = read_contents(tools.client, tools.store, table)
    view = SourceView(
        params.mode, listed, contents, plan_source(params.mode, list(listed.values()), contents)
    )
    left = view.left_as_they_are
    if left:
        logger.info(
            "%d files changed after they were ingested; append mode leaves them: %s ...", len(left), left[0]
        )
    return view
