"""A source file, with everything needed to read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from controller_client.common.visible_text import visible
from jvm_bridge.builder.model import FileFormat
from jvm_bridge.time_conversion import TimeConversion

__all__ = ["HEADER_PROPERTY", "SourceFile"]

HEADER_PROPERTY = "recordReader.prop.header"


@dataclass(frozen=True)
class SourceFile:
    """A file.

    Attributes:
        path: The file to read.
        file_format: Its format.
        reader_config: Properties of Pinot's record reader config; None is not the same as empty.
        original: The original file, if a copy or a link is read instead.
        times: Columns whose numbers are converted when they are read.
    """

    path: Path
    file_format: FileFormat
    reader_config: Mapping[str, str] | None = None
    original: Path | None = None
    times: Mapping[str, TimeConversion] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the file for messages."""
        return visible((self.original or self.path).name)

    @property
    def named_by(self) -> str:
        """What names its columns, for messages: the file itself, or for CSV a property of the reader."""
        given = self.file_format is FileFormat.CSV and (self.reader_config or {}).get("header")
        return f"{self.name}: {HEADER_PROPERTY}" if given else self.name

    @property
    def where(self) -> str:
        """Path of the file for messages."""
        return visible(str(self.original or self.path))
