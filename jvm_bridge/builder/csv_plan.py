"""What Pinot's properties for CSV files mean for Arrow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jvm_bridge.builder.planning import Unsuitable
from jvm_bridge.input_rules import csv_header

__all__ = ["CsvPlan", "plan_csv"]


@dataclass(frozen=True)
class CsvPlan:
    """Arrow's options for a CSV file.

    Attributes:
        delimiter: Separator of fields; one ASCII character.
        multi_value_delimiter: Separator of the values of a field, or None.
        header: Column names if they are not in the file's first line.
        no_edge_spaces: Whether white space around values is not supported, as Pinot's reader would drop it.
    """

    delimiter: str = ","
    multi_value_delimiter: str | None = ";"
    header: tuple[str, ...] | None = None
    no_edge_spaces: bool = False


def plan_csv(reader_config: Mapping[str, str] | None) -> CsvPlan:
    """Convert the properties of Pinot's ``CSVRecordReaderConfig`` to Arrow's options.

    Raises:
        Unsuitable: A property (or its value) has no equivalent.
        ConfigError: The property ``header`` is not a list of names.
    """
    if reader_config is None:
        return CsvPlan()
    config = dict(reader_config)
    header = csv_header(config)
    config.pop("header", None)
    delimiter = _one_character(config.pop("delimiter", ","), "delimiter")
    multi_value: str | None = _one_character(config.pop("multiValueDelimiter", ";"), "multiValueDelimiter")
    if config.pop("multiValueDelimiterEnabled", "true").lower() != "true":
        multi_value = None
    if config:
        raise Unsuitable(f"only Pinot's CSV reader supports the reader property {min(config)}")
    return CsvPlan(delimiter, multi_value, header, no_edge_spaces=True)


def _one_character(value: str, name: str) -> str:
    if len(value) != 1 or not value.isascii() or value in '"\\\r\n \0':
        raise Unsuitable(f"the reader property {name} is {value!r}")
    return value
