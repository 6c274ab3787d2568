"""A change of how a table's servers share segments: its checks, and how to apply it."""

from __future__ import annotations

from dataclasses import dataclass

from controller_client.common.names import TableName
from controller_client.common.outcomes import keeping_outcome
from controller_client.deepstore.checks import Check, CheckResult
from controller_client.deepstore.policy import POLICY_KEY, StorePolicy, policy_of, set_policy
from controller_client.errors import AppliedError, ConflictError, RejectedError
from controller_client.models import TableConfig
from controller_client.rest.client import RestClient

__all__ = ["PeerDownloadPlan", "PeerSettings", "apply"]

_FIELD = "peerSegmentDownloadScheme"


@dataclass(frozen=True)
class PeerSettings:
    """The settings in a table's config for how its servers share segments.

    Attributes:
        scheme: Scheme by which they download from each other: ``http`` or ``https``; None: they do not.
        policy: Where copies must be.
    """

    scheme: str | None
    policy: StorePolicy

    @classmethod
    def of(cls, config: TableConfig) -> PeerSettings:
        """Read the settings.

        Raises:
            ConfigError: The policy is unknown.
        """
        found = (config.to_json().get("segmentsConfig") or {}).get(_FIELD)
        return cls(str(found) if found else None, policy_of(config))


@dataclass(frozen=True)
class PeerDownloadPlan:
    """What would be changed.

    Attributes:
        table: Name with type.
        before: The present settings.
        after: The new settings.
        checks: What was checked.
    """

    table: TableName
    before: PeerSettings
    after: PeerSettings
    checks: tuple[Check, ...]

    @property
    def wrong(self) -> list[Check]:
        """The checks that failed."""
        return [check for check in self.checks if check.verdict is CheckResult.WRONG]

    def changes(self) -> list[str]:
        """Return one line for each field that changes."""
        pairs = (
            (f"segmentsConfig.{_FIELD}", self.before.scheme or "(none)", self.after.scheme or "(none)"),
            (f"metadata.customConfigs.{POLICY_KEY}", self.before.policy, self.after.policy),
        )
        return [f"{self.table}: {name}: {old} -> {new}" for name, old, new in pairs if old != new]


def apply(client: RestClient, planned: PeerDownloadPlan) -> None:
    """Change the table's config as planned, and read it back.

    Raises:
        RejectedError: A check failed, or Pinot refuses the config.
        ConflictError: Somebody else has changed these settings since the plan was made, or at the same time.
        AppliedError: The config was written, but could not be read back.
        OutcomeUnknownError: The reply was lost; read the table's config to find out.
    """
    if planned.wrong:
        raise RejectedError(
            f"the config of {planned.table} was not changed, because checks failed: "
            + "; ".join(f"{check.where}: {check.text}" for check in planned.wrong),
            remedy="fix what is wrong first",
        )
    config = client.tables.get(planned.table)
    if PeerSettings.of(config) != planned.before:
        raise ConflictError(f"somebody else changed {planned.table} meanwhile", remedy="run it again")
    document = config.to_json()
    if planned.after.scheme is None:
        document["segmentsConfig"].pop(_FIELD, None)
    else:
        document["segmentsConfig"][_FIELD] = planned.after.scheme
    set_policy(document, planned.after.policy)
    client.tables.update(TableConfig.from_json(document), skip_task_validation=True)
    written = AppliedError(f"the config of {planned.table} was written, but could not be read back")
    with keeping_outcome(written):
        now = client.tables.get(planned.table)
    if PeerSettings.of(now) != planned.after:
        raise ConflictError(f"somebody else changed {planned.table} at the same time", remedy="run it again")
