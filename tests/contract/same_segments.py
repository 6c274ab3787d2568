"""Segments built by the automatic choice of a reader, compared with those built by row and by Pinot alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.contract.segment_child import SegmentChild
from tests.contract.tables import table_config

__all__ = ["same_as_pinot"]

_VALUES = ("read", "rows", "start_time", "end_time", "time_unit")


def same_as_pinot(
    child: SegmentChild,
    schema: Mapping[str, Any],
    path: Path,
    reason: str | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    alone: bool = True,
    **more: Any,
) -> dict[str, Any]:
    """Build with the automatic choice and row by row; return the common reply or error.

    Args:
        child: The child.
        schema: The table's schema.
        path: A file.
        reason: Part of the reason for which rows are read one by one; None: columns are.
        config: The table's config, if not the usual one.
        alone: Whether Pinot's own reader and conversions, if it has them, give the same values.
        more: Further keys of the requests.
    """
    config = config or table_config()
    by_choice = child.build(config, schema, path, "auto", read_back=True, **more)
    if alone and child.reads_files and "error" not in by_choice:
        expected = child.build(config, schema, path, "alone", read_back=True, **more)
        expected["read"] = _one_zero(expected.get("read"))
        assert [by_choice[key] for key in _VALUES] == [expected.get(key) for key in _VALUES], expected
    if path.suffixes[0] == ".csv" and not child.reads_files:
        assert reason is not None or by_choice.get("reader") == "arrow", by_choice
        return by_choice
    by_pinot = child.build(config, schema, path, "pinot", read_back=True, **more)
    if "error" in by_pinot:
        assert reason is not None, by_pinot
        assert by_choice == by_pinot
        refused = child.build(config, schema, path, "arrow", **more)
        assert reason in refused["message"], refused
    elif reason is None:
        assert by_choice == {**by_pinot, "reader": "arrow"}
    else:
        assert reason in str(by_choice["fallback_reason"])
        assert by_choice == {**by_pinot, "fallback_reason": by_choice["fallback_reason"]}
    return by_choice


def _one_zero(read: Any) -> Any:
    """Return what was read with zeros for negative zeros, which Pinot 0.11 keeps."""
    if isinstance(read, list):
        return [_one_zero(each) for each in read]
    if isinstance(read, dict):
        return {key: _one_zero(value) for key, value in read.items()}
    return "0.0" if read == "-0.0" else read
