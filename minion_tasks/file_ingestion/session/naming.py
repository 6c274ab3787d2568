"""Session ids and segment names.

Each segment name contains the session id, so it never collides with a segment of an earlier session: the name
of a replaced or reverted segment cannot be used again. (Sync mode without consistent push replaces a segment
in place: the new segment takes the name of the old one.)
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from controller_client.errors import ConfigError

PREFIX = "segmentNameGenerator."
_TYPE = "type"
_NAME_PREFIX = "configs.segment.name.prefix"
_NAME_POSTFIX = "configs.segment.name.postfix"
_KEYS = (_TYPE, _NAME_PREFIX, _NAME_POSTFIX)
_SESSION_ID = re.compile(r"\d{8}T\d{9}-[0-9a-f]{6}")
_TEXT = re.compile(r"[A-Za-z0-9_.-]{1,100}")


def new_session_id(now_ms: int) -> str:
    """Create an id that sorts by the creation time of its session."""
    stamp = datetime.fromtimestamp(now_ms / 1000, UTC).strftime("%Y%m%dT%H%M%S%f")[:-3]
    return f"{stamp}-{secrets.token_hex(3)}"


def is_session_id(text: str) -> bool:
    """Return whether a text is a session id."""
    return _SESSION_ID.fullmatch(text) is not None


@dataclass(frozen=True)
class SegmentNames:
    """Names of the form ``<prefix>_<session>_<number>[_<part>][_<postfix>]``; default prefix: the table name.

    Attributes:
        prefix: ``segmentNameGenerator.configs.segment.name.prefix``.
        postfix: ``segmentNameGenerator.configs.segment.name.postfix``.
    """

    prefix: str | None = None
    postfix: str | None = None

    @classmethod
    def from_configs(cls, configs: Mapping[str, str]) -> SegmentNames:
        """Read the keys with the prefix ``segmentNameGenerator.``, named as in Pinot's batch ingestion.

        Raises:
            ConfigError: A key is unknown, the generator cannot create unique names for each session, or a
                text is not allowed in a segment name.
        """
        for key in configs:
            if key not in _KEYS:
                raise ConfigError(
                    f"unknown parameter {PREFIX + key!r}",
                    expected="one of " + ", ".join(PREFIX + known for known in _KEYS),
                )
        kind = configs.get(_TYPE, "simple")
        if kind.strip().lower() != "simple":
            raise ConfigError(
                f"{PREFIX}{_TYPE} is {kind!r}",
                expected="simple, the only type whose names are unique to each session",
                remedy=f"remove it; to mark segment names, set {PREFIX}{_NAME_PREFIX} or ...postfix",
            )
        names = cls(configs.get(_NAME_PREFIX), configs.get(_NAME_POSTFIX))
        for key, text in ((_NAME_PREFIX, names.prefix), (_NAME_POSTFIX, names.postfix)):
            if text is not None and not _TEXT.fullmatch(text):
                raise ConfigError(
                    f"{PREFIX}{key} is {text!r}", expected="1 to 100 letters, digits, or characters _ . -"
                )
        return names

    def of_session(self, raw_table: str, session_id: str, number: int, part: int = 0) -> str:
        """Name a segment.

        Args:
            raw_table: Table name without type.
            session_id: The session that builds it.
            number: The number of its first file.
            part: Its number among the segments of the same files.
        """
        middle = f"{session_id}_{number:06d}" + (f"_{part}" if part else "")
        return "_".join(text for text in (self.prefix or raw_table, middle, self.postfix) if text)
