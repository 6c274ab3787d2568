"""Human-readable sizes."""

from __future__ import annotations

__all__ = ["bytes_text"]


def bytes_text(size: int) -> str:
    """Return a human-readable size: ``1.4 MiB``."""
    value = float(size)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.1f}".removesuffix(".0") + f" {unit}" if value < 100 else f"{value:.0f} {unit}"
