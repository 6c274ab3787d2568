"""What the Pinot of a run has, where tests depend on it.

    @needs(Capability.DATABASES, raises=UnsupportedError, match="lacks: databases")
    @inside(Need.PLUG_IN_POINTS)
    if has(Need.DATA_CRC): ...

A test with `needs` expects the refusal that users see on a Pinot that lacks the capability: there it passes
if it, or a fixture, raises that error, and fails if it raises none. A test of what the jars of certain
versions have, and what no call refuses, is left out on others (`inside`). `has` is for tests of both cases.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from typing import Any

import pytest

from controller_client.rest.capabilities import Capabilities, Capability, PinotVersion

__all__ = ["Need", "NeedsPlugin", "has", "inside", "needs"]

_NEEDS, _INSIDE = "needs", "inside"
_REFUSED: pytest.StashKey[BaseException] = pytest.StashKey()
_CORE = "org.apache.pinot.core"


class Need(Enum):
    """A capability, the class of Pinot that has it, and the member of the class if the class itself is older.

    For features of the controller's REST API, use :class:`Capability` of the client instead.
    """

    CONSUMING_SEGMENTS_OF_0_11 = (
        "the consuming segments and queries that byte code is changed of",
        f"{_CORE}.data.manager.realtime.LLRealtimeSegmentDataManager",
    )
    PLUG_IN_POINTS = (
        "a provider of table data managers",
        f"{_CORE}.data.manager.provider.TableDataManagerProvider",
    )
    PAUSELESS_TABLES = (
        "pauseless tables and the status COMMITTING",
        f"{_CORE}.data.manager.realtime.PauselessSegmentCommitter",
    )
    LOGICAL_TABLES = ("logical tables", "org.apache.pinot.spi.data.LogicalTableConfig")
    DATA_CRC = (
        "a check sum of a segment's data alone",
        "org.apache.pinot.common.metadata.segment.SegmentZKMetadata",
        "getDataCrc",
    )
    EMPTY_ANSWERS = (
        "an aggregate's answer of a table without segments",
        "org.apache.pinot.broker.requesthandler.EmptyResponseUtils",
    )
    NAMED_SCHEMAS = (
        "a schema of another name than its table's",
        "org.apache.pinot.spi.config.table.SegmentsValidationAndRetentionConfig",
        "getSchemaName",
    )
    MULTI_STAGE_ENGINE = (
        "queries in the multi-stage engine",
        "org.apache.pinot.query.runtime.operator.MultiStageOperator",
    )
    NULLS_BY_OPTION = (
        "nulls in answers by a query's option alone",
        "org.apache.pinot.core.query.aggregation.function.NullableSingleInputAggregationFunction",
    )
    PAUSE_STATE = (
        "pauses by Pinot itself, with a reason",
        "org.apache.pinot.spi.config.table.PauseState",
    )
    ROW_SECURITY = ("row-level security", "org.apache.pinot.spi.auth.TableRowColAccessResult")
    COMMITS_REFUSED = (
        "refusing commits that would make replicas differ",
        "org.apache.pinot.spi.utils.ConsumingSegmentConsistencyModeListener",
    )
    UPLOAD_FILE_SYSTEM = (
        "a base class of file systems, by which uploads come to us",
        "org.apache.pinot.spi.filesystem.NoClosePinotFS",
    )
    DATA_TABLE_3 = (
        "DataTables of version 3",
        f"{_CORE}.common.datatable.DataTableBuilderV2V3",
    )
    REVERTS_DELETE = (
        "deleting the new segments when a replacement is reverted",
        "org.apache.pinot.common.restlet.resources.RevertReplaceSegmentsRequest",
    )
    SOURCE_TYPES = (
        "readers that give booleans and times as such",
        "org.apache.pinot.spi.data.readers.BaseRecordExtractor",
        "stringifyMapKey",
    )
    COLUMNAR_BUILD = ("building a segment by column", "org.apache.pinot.spi.data.readers.ColumnReaderFactory")

    def __init__(self, capability: str, class_name: str, member: str = "") -> None:
        self.capability = capability
        self.class_name = class_name
        self.member = member


def needs(*wanted: Need | Capability, raises: type[BaseException], match: str) -> pytest.MarkDecorator:
    """Mark a test that needs all of these.

    Args:
        wanted: The capabilities.
        raises: The error that users get from a Pinot that lacks one of them.
        match: A pattern that is found in the error's text.
    """
    return pytest.mark.needs(*wanted, raises=raises, match=match)


def inside(*wanted: Need) -> pytest.MarkDecorator:
    """Mark a test of something that only the inside of certain versions of Pinot has."""
    return pytest.mark.inside(*wanted)


def has(wanted: Need | Capability) -> bool:
    """Return whether this run's Pinot has something, for a test that covers both cases."""
    if isinstance(wanted, Capability):
        return Capabilities(PinotVersion.parse(_version())).has(wanted)
    content = _class_file(wanted.class_name)
    return content is not None and wanted.member.encode() in content


class NeedsPlugin:
    """Has tests expect refusals, and leaves out those of other versions of Pinot."""

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        elsewhere = [item for item in items if any(_lacking(item, _INSIDE))]
        if elsewhere:
            items[:] = [item for item in items if item not in elsewhere]
            config.hook.pytest_deselected(items=elsewhere)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        # A fixture was refused: there is nothing to call.
        if (refusal := item.stash.get(_REFUSED, None)) is not None:
            raise refusal

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
        report: pytest.TestReport = yield
        lacking = next(_lacking(item, _NEEDS), None)
        if lacking is None or call.when == "teardown":
            return report
        mark, capability = lacking
        error = call.excinfo.value if call.excinfo is not None else None
        if error is None:
            if call.when == "call":
                report.outcome = "failed"
                report.longrepr = (
                    f"this Pinot ({_version()}) lacks {capability}, but refuses nothing; expected"
                    f" {mark.kwargs['raises'].__name__}. If it has that now, correct what says so."
                )
        elif isinstance(error, mark.kwargs["raises"]) and re.search(mark.kwargs["match"], str(error)):
            report.outcome = "passed"
            report.longrepr = None
            item.stash[_REFUSED] = error
        return report


def _lacking(item: pytest.Item, name: str) -> Iterator[tuple[pytest.Mark, str]]:
    """Yield the marks of a test whose capabilities this run's Pinot lacks, with the capability."""
    for mark in item.iter_markers(name):
        for wanted in mark.args:
            if not has(wanted):
                yield mark, wanted.capability if isinstance(wanted, Need) else wanted.value


def _version() -> str:
    from tests.support.jars import jars_of
    from tests.support.service import Program

    return jars_of(Program.PINOT).version


@lru_cache(maxsize=64)
def _class_file(class_name: str) -> bytes | None:
    """Read a class of Pinot from its jars: it contains the names of its members as in the source."""
    from tests.support.jars import jars_of
    from tests.support.service import Program

    entry = class_name.replace(".", "/") + ".class"
    for jar in jars_of(Program.PINOT).class_path:
        if jar.name.startswith("pinot-"):
            with zipfile.ZipFile(jar) as archive:
                if entry in archive.NameToInfo:
                    return archive.read(entry)
    return None
