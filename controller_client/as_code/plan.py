"""A plan: what would be done to a cluster, in which order, and what each change does to the data.

A plan holds no secret: documents in it are those of the files, with their references, and what the cluster
has is masked. Its id follows from what it would do, so the same change of the same cluster always has the
same id.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from controller_client.as_code.effects import Effect
from controller_client.as_code.objects import ObjectRef
from controller_client.common.formats import Format
from controller_client.errors import ConfigError, DataError

__all__ = ["PLAN_FORMAT", "Action", "Plan", "PlannedField", "Step", "load_plan", "save_plan"]

PLAN_FORMAT = Format("the saved plan")

_LARGEST_BYTES = 256 * 1024 * 1024


class Action(StrEnum):
    """What a step does."""

    CREATE = "create"
    UPDATE = "update"
    RELOAD = "reload"
    PAUSE = "pause"
    RESUME = "resume"
    DELETE = "delete"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlannedField(_Record):
    """A field that changes.

    Attributes:
        field: JSON pointer; columns of a schema stand in it by name.
        old: What the cluster has, secrets masked; null with ``is_new``.
        new: What is wanted, as the file has it; null with ``is_gone``.
        is_new: The cluster does not have the field.
        is_gone: It is not wanted.
        effect: What the change does to the data.
        reason: Why.
    """

    field: str
    old: Any = None
    new: Any = None
    is_new: bool = False
    is_gone: bool = False
    effect: Effect = Effect.NOTHING
    reason: str = ""


class Step(_Record):
    """One step.

    Attributes:
        action: What it does.
        object: To which object, e.g. ``tables/flights_OFFLINE``.
        fields: What changes.
        effects: What that does to the data, each once, the most first.
        segments: Number of segments that it is about.
        size_bytes: Their bytes on all servers; null: unknown.
        notes: What follows from it, and what is left to do by hand.
        refusal: Why Pinot will refuse it; null: nothing is known that it would refuse.
        fingerprint: Check sum of what is there and of what is wanted, secrets left out.
    """

    action: Action
    object: str
    fields: tuple[PlannedField, ...] = ()
    effects: tuple[Effect, ...] = (Effect.NOTHING,)
    segments: int = 0
    size_bytes: int | None = 0
    notes: tuple[str, ...] = ()
    refusal: str | None = None
    fingerprint: str = ""

    @property
    def ref(self) -> ObjectRef:
        """The object."""
        return ObjectRef.from_key(self.object)

    @property
    def key(self) -> str:
        """What makes it this step and no other."""
        return f"{self.action} {self.object} {self.fingerprint}"


class Plan(_Record):
    """A plan.

    Attributes:
        format: Of this document.
        owner: Whose objects these are.
        folder: The folder that it was made from.
        controller: URL of the controller of the cluster that it is for, without credentials.
        prune: Whether objects that the owner has applied and whose files are gone are deleted.
        keep_unset: Whether references to what is not set leave the field as it is.
        steps: In their order.
        left_alone: Objects of the cluster that have no file.
    """

    format: int = PLAN_FORMAT.version
    owner: str
    folder: str
    controller: str
    prune: bool = False
    keep_unset: bool = False
    steps: tuple[Step, ...] = ()
    left_alone: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Check sum of what it would do."""
        text = "\n".join([self.owner, self.controller, *(step.key for step in self.steps)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def has_changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.steps)

    @property
    def refused(self) -> tuple[Step, ...]:
        """The steps that Pinot will refuse."""
        return tuple(step for step in self.steps if step.refusal)

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a document, with its id."""
        return {"id": self.id, **self.model_dump(mode="json")}


def fingerprint(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> str:
    """Return the check sum of a change between documents without secrets."""
    text = json.dumps([before, after], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def save_plan(plan: Plan, path: Path) -> None:
    """Write a plan into a file."""
    path.write_text(json.dumps(plan.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_plan(path: Path) -> Plan:
    """Read a plan.

    Raises:
        ConfigError: The file is no plan, or was changed.
        FormatVersionError: A later release wrote it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES)
        document = json.loads(data)
        PLAN_FORMAT.check(document, str(path))
        stated = document.pop("id")
        plan = Plan.model_validate(document)
    except (
        DataError,
        OSError,
        ValueError,
        KeyError,
        AttributeError,
        TypeError,
        RecursionError,
        ValidationError,
    ) as error:
        raise ConfigError(
            f"this is no plan ({type(error).__name__})",
            expected="a file that 'pinotctl diff DIR --save FILE' wrote, of this version",
            where=str(path),
        ) from None
    if plan.id != stated:
        raise ConfigError(
            "the plan's id is not that of its content, so it was changed after it was made",
            where=str(path),
            remedy="make it again by: pinotctl diff DIR --save FILE",
        )
    return plan


def effects_of(fields: Sequence[PlannedField]) -> tuple[Effect, ...]:
    """Return the effects of fields, each once, the most first."""
    found = sorted({each.effect for each in fields}, key=lambda each: -each.weight)
    more = tuple(each for each in found if each is not Effect.NOTHING)
    return more or (Effect.NOTHING,)
