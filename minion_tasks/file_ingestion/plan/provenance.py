"""The source files of a segment, recorded in the segment's own metadata (its custom map).

The next run compares the source with this record, which is part of the table itself. No second ledger can
disagree with what is served.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from controller_client.common.formats import Format
from controller_client.errors import DataError
from controller_client.filestore import FileInfo
from minion_tasks.sources.base import SourceVersion

PROVENANCE_FORMAT = Format("the list of a segment's source files", field="pinotPlugins.format")

_INPUTS = "pinotPlugins.inputs"
SESSION_KEY = "pinotPlugins.session"
_VERSION, _COMMITTED = "pinotPlugins.sourceVersion", "pinotPlugins.sourceCommittedMs"
_LARGEST_PLAIN_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Provenance:
    """The files from which a segment was built, and the session that built it.

    Attributes:
        version: The version of a lakehouse table that the session read; informational, as the inputs decide.
    """

    session: str
    inputs: tuple[FileInfo, ...]
    version: SourceVersion | None = None

    def to_custom_map(self) -> dict[str, str]:
        """Encode as compressed base64, since Pinot's metadata file splits values at commas."""
        rows = [[f.uri, f.size_bytes, f.modified_ms, f.etag] for f in self.inputs]
        packed = zlib.compress(json.dumps(rows, separators=(",", ":")).encode(), 6)
        inputs = base64.urlsafe_b64encode(packed).decode()
        custom = {SESSION_KEY: self.session, _INPUTS: inputs}
        if self.version is not None:
            custom |= {_VERSION: self.version.id, _COMMITTED: str(self.version.committed_ms)}
        return PROVENANCE_FORMAT.stamp(custom)

    @classmethod
    def from_custom_map(cls, custom: Mapping[str, str], *, segment: str) -> Provenance | None:
        """Decode; None for a segment not built by this task.

        Raises:
            DataError: The entry is corrupt.
            FormatVersionError: A later release wrote the entry.
        """
        PROVENANCE_FORMAT.check(custom, f"the metadata of segment {segment}")
        packed = custom.get(_INPUTS)
        if packed is None:
            return None
        try:
            rows = json.loads(_unpacked(base64.urlsafe_b64decode(packed)))
            inputs = tuple(
                FileInfo(uri, int(size), int(modified), etag) for uri, size, modified, etag in rows
            )
        except (ValueError, TypeError, zlib.error, binascii.Error, RecursionError) as error:
            raise DataError(
                f"the list of source files in the metadata of segment {segment} is corrupt",
                expected=f"{_INPUTS} as written by this task",
                remedy="delete the segment, or remove the entry from its metadata to treat it as foreign",
            ) from error
        return cls(custom.get(SESSION_KEY, ""), inputs)


def _unpacked(packed: bytes) -> bytes:
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(packed, _LARGEST_PLAIN_BYTES)
    if not unpacking.eof:
        raise ValueError(f"it is truncated or exceeds {_LARGEST_PLAIN_BYTES:,} bytes uncompressed")
    return text
