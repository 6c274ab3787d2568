"""Where a table's committed segments must have copies: in the deep store too, or only on servers.

The policy is in the table's config, as ``pinotPlugins.deepStore`` in ``metadata.customConfigs``, so that
every audit of the table's copies applies the same rule.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from controller_client.errors import ConfigError
from controller_client.models import TableConfig

__all__ = ["POLICY_KEY", "StorePolicy", "policy_of", "set_policy"]

POLICY_KEY = "pinotPlugins.deepStore"


class StorePolicy(StrEnum):
    """Where copies of a committed segment must be."""

    STORE = "store"
    """One in the deep store, and enough in total with those on servers; the default."""
    SERVERS = "servers"
    """Enough on servers, with the right checksum; there is no store, or none for this table."""


def policy_of(config: TableConfig | None) -> StorePolicy:
    """Return a table's policy; for a table that is gone, the default.

    Raises:
        ConfigError: This release does not know the policy.
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
            remedy="set it with `pinotctl deepstore enable`",
        ) from error


def set_policy(document: dict[str, Any], policy: StorePolicy) -> None:
    """Write a policy to a table's config document; the default is written as no entry."""
    metadata = dict(document.get("metadata") or {})
    custom = dict(metadata.get("customConfigs") or {})
    custom.pop(POLICY_KEY, None)
    if policy is not StorePolicy.STORE:
        custom[POLICY_KEY] = policy.value
    if custom or metadata:
        document["metadata"] = {**metadata, "customConfigs": custom}
