"""Where a table's committed segments are to be: in the deep store too, or on servers alone.

It stands in the table's config, as ``pinotPlugins.deepStore`` in ``metadata.customConfigs``, so that all who
look at the table's copies judge them alike.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from controller_client.errors import ConfigError
from controller_client.models import TableConfig

__all__ = ["POLICY_KEY", "StorePolicy", "policy_of", "set_policy"]

POLICY_KEY = "pinotPlugins.deepStore"


class StorePolicy(StrEnum):
    """What is asked of a committed segment's copies."""

    STORE = "store"
    """A copy in the deep store, and enough together with those of servers; the default."""
    SERVERS = "servers"
    """Enough servers that have it with the right check sum; there is no store, or none for this table."""


def policy_of(config: TableConfig | None) -> StorePolicy:
    """Return a table's policy; of a table that is gone the default.

    Raises:
        ConfigError: It is none that this release knows.
    """
    if config is None:
        return StorePolicy.STORE
    text = ((config.to_json().get("metadata") or {}).get("customConfigs") or {}).get(POLICY_KEY)
    try:
        return StorePolicy(text) if text is not None else StorePolicy.STORE
    except ValueError as error:
        raise ConfigError(
            f"{POLICY_KEY} of {config.name_with_type} is {text!r}",
            expected=" or ".join(StorePolicy),
            where=f"metadata.customConfigs of {config.name_with_type}",
            remedy="`pinotctl deepstore enable` writes it",
        ) from error


def set_policy(document: dict[str, Any], policy: StorePolicy) -> None:
    """Write a policy into a table's config document; the default is no entry."""
    metadata = dict(document.get("metadata") or {})
    custom = dict(metadata.get("customConfigs") or {})
    custom.pop(POLICY_KEY, None)
    if policy is not StorePolicy.STORE:
        custom[POLICY_KEY] = policy.value
    if custom or metadata:
        document["metadata"] = {**metadata, "customConfigs": custom}
