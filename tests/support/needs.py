"""Capabilities of Pinot that tests need and not every version has; the only way to skip because of them.

    pytestmark = needs(Need.PLUG_IN_POINTS)      # a module, class or test; decided before any fixture starts

    lacks("a log of its own commits")            # in a fixture or test that finds out while it runs

Either way the reason is ``this Pinot (1.5.1) lacks: <capability>``.
"""

from __future__ import annotations

import zipfile
from enum import Enum
from functools import lru_cache
from typing import NoReturn

import pytest

from controller_client.rest.capabilities import Capabilities, Capability, PinotVersion
from tests.support.jars import jars_of
from tests.support.service import Program

__all__ = ["Need", "NeedsPlugin", "has", "lacks", "needs"]

_MARK = "needs"
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
    COLUMNAR_BUILD = ("building a segment by column", "org.apache.pinot.spi.data.readers.ColumnReaderFactory")

    def __init__(self, capability: str, class_name: str, member: str = "") -> None:
        self.capability = capability
        self.class_name = class_name
        self.member = member


def needs(*wanted: Need | Capability) -> pytest.MarkDecorator:
    """Mark tests that need all of these; if one is missing, they are skipped before fixtures start."""
    return pytest.mark.needs(*wanted)


def has(wanted: Need | Capability) -> bool:
    """Return whether this run's Pinot has something, for a test that covers both cases."""
    if isinstance(wanted, Capability):
        return Capabilities(PinotVersion.parse(_version())).has(wanted)
    content = _class_file(wanted.class_name)
    return content is not None and wanted.member.encode() in content


def lacks(capability: str) -> NoReturn:
    """Skip the running test, because this run's Pinot lacks what it needs.

    Args:
        capability: What is missing, as the end of the sentence "this Pinot lacks".
    """
    pytest.skip(f"this Pinot ({_version()}) lacks: {capability}")


class NeedsPlugin:
    """Skips the tests that are marked with :func:`needs`."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        for mark in item.iter_markers(_MARK):
            for wanted in mark.args:
                if not has(wanted):
                    lacks(wanted.capability if isinstance(wanted, Need) else wanted.value)


def _version() -> str:
    return jars_of(Program.PINOT).version


@lru_cache(maxsize=64)
def _class_file(class_name: str) -> bytes | None:
    """Read a class of Pinot from its jars: it contains the names of its members as in the source."""
    entry = class_name.replace(".", "/") + ".class"
    for jar in jars_of(Program.PINOT).class_path:
        if jar.name.startswith("pinot-"):
            with zipfile.ZipFile(jar) as archive:
                if entry in archive.NameToInfo:
                    return archive.read(entry)
    return None
