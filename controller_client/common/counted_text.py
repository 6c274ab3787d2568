"""Counted nouns for sentences."""

from __future__ import annotations

__all__ = ["counted_text"]


def counted_text(count: int, noun: str) -> str:
    """Return a counted noun: ``1 file``, ``2 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
