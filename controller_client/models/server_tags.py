"""The tags of the servers of a realtime table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from controller_client.models.table import TableConfig

__all__ = ["ServerTags"]


@dataclass(frozen=True)
class ServerTags:
    """The tags of a table's servers.

    Attributes:
        consuming: Tag of the servers that consume and commit.
        others: Tags of the servers that committed segments move to, on completion and to tiers.
    """

    consuming: str
    others: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """The tags of all servers that may have a segment of the table."""
        return self.others | {self.consuming}

    @classmethod
    def of(cls, config: TableConfig) -> ServerTags:
        """Read the tags, by Pinot's own rules: an instance assignment counts before the tenant's tag."""
        document = config.to_json()
        tenants = config.tenants
        usual = f"{tenants.get('server') or 'DefaultTenant'}_REALTIME"
        override = tenants.get("tagOverrideConfig") or {}
        tags = {
            "CONSUMING": str(override.get("realtimeConsuming") or usual),
            "COMPLETED": str(override.get("realtimeCompleted") or usual),
            **{
                str(tier.get("name")): str(tier["serverTag"])
                for tier in document.get("tierConfigs") or ()
                if tier.get("serverTag")
            },
            **_assigned(document),
        }
        consuming = tags.pop("CONSUMING")
        return cls(consuming, frozenset(tags.values()) - {consuming})


def _assigned(document: dict[str, Any]) -> dict[str, str]:
    """Return the tags of the table's instance assignments, by kind of segments or name of a tier."""
    assignments = document.get("instanceAssignmentConfigMap") or {}
    return {
        kind: str(tag)
        for kind, assignment in assignments.items()
        if (tag := ((assignment or {}).get("tagPoolConfig") or {}).get("tag"))
    }
