"""Enumerations whose values are shown to people and to programs."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["WordEnum"]


class WordEnum(StrEnum):
    """An enumeration with values in snake_case, which JSON and tables show as they are."""

    @property
    def words(self) -> str:
        """The value as a sentence has it: ``no_url`` is ``no url``."""
        return self.value.replace("_", " ")
