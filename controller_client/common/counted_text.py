"""Numbers of things as sentences have them."""

from __future__ import annotations

__all__ = ["counted_text"]


def counted_text(count: int, noun: str) -> str:
    """Write a number of things: ``1 file``, ``2 files``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
