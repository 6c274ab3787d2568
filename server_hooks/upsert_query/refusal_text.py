"""What a query is told that is refused."""

from __future__ import annotations

from controller_client.errors import PinotPluginError

__all__ = ["refusal_text"]


def refusal_text(error: Exception) -> str:
    """Return the text for an error; one that nobody expected is named too, for the broker's people."""
    return str(error) if isinstance(error, PinotPluginError) else f"the hook upsert failed: {error!r}"
