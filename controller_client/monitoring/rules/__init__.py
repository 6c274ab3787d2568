"""Alerts for Prometheus."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["rules_text"]


def rules_text() -> str:
    """Return the rules file for Prometheus."""
    return files(__package__).joinpath("pinot-plugins.yml").read_text(encoding="utf-8")
