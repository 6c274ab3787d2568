"""Enumerations with values for both users and programs."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["WordEnum"]


class WordEnum(StrEnum):
    """An enumeration with values in snake_case, which JSON and tables show unchanged."""

    @property
    def words(self) -> str:
        """The value for a sentence: ``no_url`` is ``no url``."""
        return self.value.replace("_", " ")
