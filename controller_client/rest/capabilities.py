"""The capabilities of a cluster, determined by its version and a table, never by trial."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache, total_ordering

from controller_client.errors import PinotPluginError, UnsupportedError

__all__ = ["NEWEST_TESTED", "SINCE", "Capabilities", "Capability", "PinotVersion", "warn_if_untested"]

logger = logging.getLogger(__name__)

_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?")


@total_ordering
@dataclass(frozen=True, eq=False)
class PinotVersion:
    """A version of Pinot; a snapshot counts as the release it leads to.

    Attributes:
        major: First number.
        minor: Second number.
        patch: Third number.
        text: As the cluster reports it, e.g. ``0.11.0-1b4d6b6b0a27422c1552ea1a936ad145056f7033``.
    """

    major: int
    minor: int
    patch: int = 0
    text: str = ""

    @classmethod
    def parse(cls, text: str) -> PinotVersion:
        """Parse a version.

        Raises:
            PinotPluginError: The text contains no version (builds in an IDE report ``UNKNOWN``).
        """
        match = _VERSION.match(text.strip())
        if match is None:
            raise PinotPluginError(f"{text!r} is not a Pinot version", expected="a version like 0.11.0")
        major, minor, patch = match.groups(default="0")
        return cls(int(major), int(minor), int(patch), text.strip())

    @classmethod
    def from_components(cls, components: Mapping[str, str]) -> PinotVersion:
        """Parse the response of ``GET /version`` (component -> version; the controller's version counts).

        Raises:
            PinotPluginError: No component has a version.
        """
        for name in ("pinot-controller", "pinot-common", *sorted(components)):
            if _VERSION.match(components.get(name, "")):
                return cls.parse(components[name])
        raise PinotPluginError(
            "the cluster does not report its version",
            expected="a version number for pinot-controller in GET /version",
        )

    @property
    def release(self) -> str:
        """The numbers alone, e.g. ``0.11.0``."""
        return f"{self.major}.{self.minor}.{self.patch}"

    def __str__(self) -> str:
        return self.release

    def _key(self) -> tuple[int, int, int]:
        return (self.major, self.minor, self.patch)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PinotVersion) and self._key() == other._key()

    def __lt__(self, other: PinotVersion) -> bool:
        return self._key() < other._key()

    def __hash__(self) -> int:
        return hash(self._key())


NEWEST_TESTED = PinotVersion(1, 5, 1)
"""The newest tested version."""


def warn_if_untested(version: PinotVersion) -> None:
    """Log a warning, once per process, if a version's series is newer than all tested ones.

    The same calls are made regardless: capabilities are detected by what the version has.
    """
    if (version.major, version.minor) > (NEWEST_TESTED.major, NEWEST_TESTED.minor):
        _warn(version.release)


@lru_cache(maxsize=8)
def _warn(release: str) -> None:
    logger.warning(
        "Pinot %s is newer than the newest tested version (%s) and is treated like it; 'pinotctl info' shows "
        "which features work with it",
        release,
        NEWEST_TESTED,
    )


class Capability(StrEnum):
    """A feature that not every supported version has; the value is its name in error messages."""

    EXCLUDE_REPLACED_SEGMENTS = "listing segments without the replaced ones"
    LIST_LINEAGE = "listing the segment lineage"
    COPY_TO_DEEP_STORE = "a metadata push that copies the segment into the deep store"
    PAUSE_CONSUMPTION = "pausing consumption"
    PUSH_IN_BATCHES = "metadata pushes in batches"
    RELOAD_STATUS = "the status of a reload"
    EMPTY_SEGMENTS_TO = "replacing segments with nothing"
    FORCE_COMMIT_SOME = "forcing the commit of chosen segments"
    CURSORS = "results that the broker stores and returns page by page"
    CONFIGS_AS_WRITTEN = "returning table configs as they were written"
    SCHEDULE_CHECKED = "a check that a task with a schedule has a minion"
    TABLE_MANAGERS = "a provider of table data managers"
    FOLDER_SIZES = "the unpacked size of segments that servers commit"
    DATABASES = "databases"
    PAUSE_COMMENT = "a comment on a pause"
    MISSING_COLUMNS_AS_DEFAULT = "reading a column that a segment lacks as its default value"
    FORCE_COMMIT_BATCHES = "forcing commits in batches"
    PAUSELESS_TABLES = "consumption that continues while a segment is built"
    SEVERAL_TOPICS = "tables with several topics"
    ROW_SECURITY = "row-level security"
    LOGICAL_TABLES = "logical tables"
    FORCE_COMMIT_REFUSED = "refusing commits that would make replicas differ"
    DRAIN_MINIONS = "draining minions"
    PAUSE_BATCHES = "pausing in batches"
    ALL_SEGMENT_RECORDS = "the records of all segments of a table"
    PAUSE_TOPICS = "pausing single topics"
    TASK_VALIDATION = "checking task configs against the controller's task generators"
    LIVE_INSTANCES = "listing the live instances"
    DECIMAL_DIMENSIONS = "BIG_DECIMAL columns that are not metrics"
    RELOAD_ENCODING = "re-encoding a column during a reload"
    SCHEMA_FIELDS_CHANGE = "changing column attributes other than the type"
    UPSERT_CHANGE_REFUSED = "refusing changes that would break upsert or dedup"
    REBALANCE_STATUS = "the status of a rebalance"
    REBALANCE_CANCEL = "cancelling a rebalance"
    REBALANCE_CHECKS = "checks before a rebalance"
    DROP_CHECK = "checking whether an instance can be dropped"
    NEW_SEGMENTS_LEFT_OUT = "skipping new segments that a server does not have yet"
    STATES_BY_PUT = "setting the state of a table or an instance by PUT"
    LINEAGE_PROTECTED = "keeping the segments that a live lineage entry needs"


# Determined from the endpoints in each release's source tag.
SINCE: Mapping[Capability, PinotVersion] = {
    Capability.EXCLUDE_REPLACED_SEGMENTS: PinotVersion(0, 10),
    Capability.LIST_LINEAGE: PinotVersion(0, 10),
    Capability.COPY_TO_DEEP_STORE: PinotVersion(0, 11),
    Capability.PAUSE_CONSUMPTION: PinotVersion(0, 11),
    Capability.RELOAD_STATUS: PinotVersion(0, 11),
    Capability.DECIMAL_DIMENSIONS: PinotVersion(0, 12),
    Capability.RELOAD_ENCODING: PinotVersion(0, 12),
    Capability.SCHEMA_FIELDS_CHANGE: PinotVersion(0, 12),
    Capability.EMPTY_SEGMENTS_TO: PinotVersion(1, 0),
    Capability.ALL_SEGMENT_RECORDS: PinotVersion(1, 0),
    Capability.TASK_VALIDATION: PinotVersion(1, 0),
    Capability.REBALANCE_STATUS: PinotVersion(1, 0),
    Capability.DROP_CHECK: PinotVersion(1, 0),
    Capability.NEW_SEGMENTS_LEFT_OUT: PinotVersion(1, 0),
    Capability.STATES_BY_PUT: PinotVersion(1, 0),
    Capability.REBALANCE_CANCEL: PinotVersion(1, 1),
    Capability.FORCE_COMMIT_SOME: PinotVersion(1, 1),
    Capability.DATABASES: PinotVersion(1, 2),
    Capability.LIVE_INSTANCES: PinotVersion(1, 2),
    Capability.FOLDER_SIZES: PinotVersion(1, 3),
    Capability.CONFIGS_AS_WRITTEN: PinotVersion(1, 3),
    Capability.CURSORS: PinotVersion(1, 3),
    Capability.SCHEDULE_CHECKED: PinotVersion(1, 3),
    Capability.PUSH_IN_BATCHES: PinotVersion(1, 3),
    Capability.TABLE_MANAGERS: PinotVersion(1, 3),
    Capability.PAUSE_COMMENT: PinotVersion(1, 3),
    Capability.MISSING_COLUMNS_AS_DEFAULT: PinotVersion(1, 4),
    Capability.FORCE_COMMIT_BATCHES: PinotVersion(1, 4),
    Capability.LOGICAL_TABLES: PinotVersion(1, 4),
    Capability.PAUSELESS_TABLES: PinotVersion(1, 4),
    Capability.REBALANCE_CHECKS: PinotVersion(1, 4),
    Capability.ROW_SECURITY: PinotVersion(1, 4),
    Capability.SEVERAL_TOPICS: PinotVersion(1, 4),
    Capability.DRAIN_MINIONS: PinotVersion(1, 5),
    Capability.FORCE_COMMIT_REFUSED: PinotVersion(1, 5),
    Capability.PAUSE_BATCHES: PinotVersion(1, 5),
    Capability.PAUSE_TOPICS: PinotVersion(1, 5),
    Capability.UPSERT_CHANGE_REFUSED: PinotVersion(1, 5),
    Capability.LINEAGE_PROTECTED: PinotVersion(1, 6),
}


@dataclass(frozen=True)
class Capabilities:
    """The capabilities of a cluster.

    Attributes:
        version: The cluster's version.
    """

    version: PinotVersion

    def has(self, capability: Capability) -> bool:
        """Return whether the cluster has a capability."""
        return self.version >= SINCE[capability]

    def require(self, capability: Capability, *, remedy: str | None = None) -> None:
        """Raise an error unless the cluster has a capability.

        Args:
            capability: The required capability.
            remedy: An alternative for older clusters, if there is one.

        Raises:
            UnsupportedError: The cluster lacks it; the error names the first version that has it.
        """
        if not self.has(capability):
            raise UnsupportedError(
                f"Pinot {self.version} lacks {capability.value}",
                expected=f"Pinot {SINCE[capability]} or later",
                remedy=remedy or f"upgrade the cluster to {SINCE[capability]} or later",
            )
