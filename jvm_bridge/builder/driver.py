"""Runs Pinot's ``SegmentIndexCreationDriverImpl`` over a source of rows, and packs the segment.

JPype releases the GIL while Java runs, so builds in several threads of one process run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller_client.errors import ConfigError
from jvm_bridge.builder.columns import SourceColumns
from jvm_bridge.builder.model import BuiltSegment, Reader
from jvm_bridge.builder.pinot_classes import has_method, java_class
from jvm_bridge.builder.planning import TableRequirements, Unsuitable
from jvm_bridge.java_errors import JAVA_ERRORS, root_causes
from jvm_bridge.tar import create_metadata_tar, create_tar

__all__ = ["PinotTable", "SegmentTarget", "generator_config", "pack", "rows_source", "run_driver"]

_CREATOR = "org.apache.pinot.segment.local.segment.creator"
_INIT_OF_ROLE = (
    "org.apache.pinot.segment.spi.creator.SegmentGeneratorConfig",
    "org.apache.pinot.segment.spi.creator.SegmentCreationDataSource",
    f"{_CREATOR}.TransformPipeline",
    "org.apache.pinot.spi.config.instance.InstanceType",
)
_CUSTOM_PREFIX = "custom."  # V1Constants.MetadataKeys.Segment.CUSTOM_SUBSET


@dataclass(frozen=True)
class PinotTable:
    """A table as Pinot parsed it.

    Attributes:
        config: Pinot's ``TableConfig``.
        schema: Pinot's ``Schema``.
        planned: The plan of the arrow path, or why it cannot be used.
        columns: The columns that it reads from its files; None if they are nested and cannot be compared.
        time_steps: Its time columns, each with the nanoseconds of a step.
        zone: Time zone of texts without an offset in its columns of type TIMESTAMP.
    """

    config: Any
    schema: Any
    planned: TableRequirements | Unsuitable
    columns: SourceColumns | None
    time_steps: Mapping[str, int]
    zone: str = "UTC"

    def plan(self) -> TableRequirements:
        """Return the plan.

        Raises:
            Unsuitable: Arrow cannot read files for this table.
        """
        if isinstance(self.planned, Unsuitable):
            raise self.planned
        return self.planned


@dataclass(frozen=True)
class SegmentTarget:
    """Where a segment goes: its name, the folder of its files, and the folder of its tars."""

    segment_name: str
    build_dir: Path
    tar_dir: Path
    custom_metadata: Mapping[str, str]


def generator_config(table_config: Any, schema: Any, target: SegmentTarget) -> Any:
    """Return a ``SegmentGeneratorConfig``; its constructor takes all indexing from the table config.

    Raises:
        ConfigError: Pinot rejects the table config or the schema.
    """
    generator = java_class("org.apache.pinot.segment.spi.creator.SegmentGeneratorConfig")
    try:
        config = generator(table_config, schema)
    except JAVA_ERRORS as error:
        raise ConfigError(
            f"Pinot cannot build segments with this table config and schema: {root_causes(error)}"
        ) from error
    config.setTableName(table_config.getTableName())
    config.setOutDir(str(target.build_dir))
    config.setSegmentName(target.segment_name)
    if has_method(generator, "setContinueOnError"):  # since 1.0
        # Otherwise the driver drops rows that it cannot read or transform, and makes up a segment's times.
        config.setContinueOnError(False)
    if target.custom_metadata:
        # The driver writes custom properties unchanged; the reader puts those below "custom" into the custom
        # map.
        custom = java_class("java.util.HashMap")()
        for key, value in target.custom_metadata.items():
            custom.put(_CUSTOM_PREFIX + key, value)
        config.setCustomProperties(custom)
    return config


def rows_source(reader: Any) -> Any:
    """Return a Java ``RecordReader`` as a source for the driver."""
    return java_class(f"{_CREATOR}.RecordReaderSegmentCreationDataSource")(reader)


def run_driver(config: Any, *source: Any, before_build: Callable[[Any], object] | None = None) -> Path:
    """Build one segment; Java exceptions are not caught.

    Args:
        config: A ``SegmentGeneratorConfig``.
        source: The arguments of the driver's ``init`` after the config: none, a reader, or a data source and
            a pipeline.
        before_build: Called with the driver once it is initialised, in this thread.

    Returns:
        The segment's folder.
    """
    driver_class = java_class(f"{_CREATOR}.impl.SegmentIndexCreationDriverImpl")
    driver = driver_class()
    # Since 1.5 the role is an argument: none, as otherwise Pinot would count the rows as a minion's.
    of_no_role = [None] if len(source) > 1 and has_method(driver_class, "init", *_INIT_OF_ROLE) else []
    driver.init(config, *source, *of_no_role)
    if before_build is not None:
        before_build(driver)
    driver.build()
    return Path(str(driver.getOutputDirectory().getAbsolutePath()))


def pack(folder: Path, target: SegmentTarget, reader: Reader, fallback_reason: str | None) -> BuiltSegment:
    """Write both tars of a built segment; its figures are those of Pinot's ``SegmentMetadataImpl``."""
    metadata = java_class("org.apache.pinot.segment.spi.index.metadata.SegmentMetadataImpl")(
        java_class("java.io.File")(str(folder))
    )
    tar_path = target.tar_dir / f"{target.segment_name}.tar.gz"
    metadata_tar_path = target.tar_dir / f"{target.segment_name}.metadata.tar.gz"
    has_time = metadata.getTimeInterval() is not None
    create_metadata_tar(folder, metadata_tar_path)
    return BuiltSegment(
        name=target.segment_name,
        rows=int(metadata.getTotalDocs()),
        tar_path=tar_path,
        tar_size_bytes=create_tar(folder, tar_path),
        metadata_tar_path=metadata_tar_path,
        segment_size_bytes=sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()),
        crc=int(str(metadata.getCrc())),
        start_time=int(metadata.getStartTime()) if has_time else None,
        end_time=int(metadata.getEndTime()) if has_time else None,
        time_unit=str(metadata.getTimeUnit()) if has_time else None,
        reader=reader,
        fallback_reason=fallback_reason,
    )
