"""Segments built by the automatic choice of a reader, compared with those of Pinot's reader."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.contract.segment_child import SegmentChild
from tests.contract.tables import table_config

__all__ = ["same_as_pinot"]


def same_as_pinot(
    child: SegmentChild,
    schema: Mapping[str, Any],
    path: Path,
    reason: str | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """Build with the automatic choice and with Pinot's reader, if any; return the common reply or error.

    Args:
        child: The child.
        schema: The table's schema.
        path: A file.
        reason: Part of the reason for which Pinot's reader is chosen; None: Arrow is.
        config: The table's config, if not the usual one.
        more: Further keys of the requests.
    """
    config = config or table_config()
    by_choice = child.build(config, schema, path, "auto", read_back=True, **more)
    if not child.reads_files:
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
