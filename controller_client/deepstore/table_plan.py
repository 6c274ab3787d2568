"""A change of how a table's servers share segments: what was checked for it, and how it is applied."""

from __future__ import annotations

from dataclasses import dataclass

from controller_client.common.names import TableName
from controller_client.deepstore.checks import Check, Verdict
from controller_client.deepstore.policy import POLICY_KEY, StorePolicy, policy_of, set_policy
from controller_client.errors import ConflictError, RejectedError
from controller_client.models import TableConfig
from controller_client.rest.client import RestClient

__all__ = ["PeerSettings", "TablePlan", "apply"]

_FIELD = "peerSegmentDownloadScheme"


@dataclass(frozen=True)
class PeerSettings:
    """What of a table's config says how its servers share segments.

    Attributes:
        scheme: By which they fetch from each other: ``http`` or ``https``; None: they do not.
        policy: Where copies are to be.
    """

    scheme: str | None
    policy: StorePolicy

    @classmethod
    def of(cls, config: TableConfig) -> PeerSettings:
        """Read them.

        Raises:
            ConfigError: The policy is none that is known.
        """
        found = (config.to_json().get("segmentsConfig") or {}).get(_FIELD)
        return cls(str(found) if found else None, policy_of(config))


@dataclass(frozen=True)
class TablePlan:
    """What would be changed.

    Attributes:
        table: Name with type.
        before: As it is.
        after: As it is to be.
        checks: What was inspected.
    """

    table: TableName
    before: PeerSettings
    after: PeerSettings
    checks: tuple[Check, ...]

    @property
    def wrong(self) -> list[Check]:
        """Checks that speak against it."""
        return [check for check in self.checks if check.verdict is Verdict.WRONG]

    def changes(self) -> list[str]:
        """Each field that changes, in a line."""
        pairs = (
            (f"segmentsConfig.{_FIELD}", self.before.scheme or "(none)", self.after.scheme or "(none)"),
            (f"metadata.customConfigs.{POLICY_KEY}", self.before.policy, self.after.policy),
        )
        return [f"{self.table}: {name}: {old} -> {new}" for name, old, new in pairs if old != new]


def apply(client: RestClient, planned: TablePlan) -> None:
    """Change the table's config as planned, and read it back.

    Raises:
        RejectedError: A check speaks against it, or Pinot refuses the config.
        ConflictError: Somebody else has changed these settings since the plan was made, or at the same time.
        OutcomeUnknownError: The reply was lost: read the table's config.
    """
    if planned.wrong:
        raise RejectedError(
            f"the config of {planned.table} is not changed: "
            + "; ".join(f"{check.where}: {check.text}" for check in planned.wrong),
            remedy="fix that first",
        )
    config = client.tables.get(planned.table)
    if PeerSettings.of(config) != planned.before:
        raise ConflictError(f"{planned.table} was changed by somebody else meanwhile", remedy="run it again")
    document = config.to_json()
    if planned.after.scheme is None:
        document["segmentsConfig"].pop(_FIELD, None)
    else:
        document["segmentsConfig"][_FIELD] = planned.after.scheme
    set_policy(document, planned.after.policy)
    client.tables.update(TableConfig.from_json(document), skip_task_validation=True)
    if PeerSettings.of(client.tables.get(planned.table)) != planned.after:
        raise ConflictError(
            f"{planned.table} was written by somebody else at the same time", remedy="run it again"
        )
