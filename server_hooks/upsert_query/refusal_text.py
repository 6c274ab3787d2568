"""The message of a rejected query."""

from __future__ import annotations

from controller_client.errors import PinotPluginError

__all__ = ["refusal_text"]


def refusal_text(error: Exception) -> str:
    """Return the message for an error; an unexpected error is included for the broker's operators."""
    return str(error) if isinstance(error, PinotPluginError) else f"the hook upsert failed: {error!r}"
