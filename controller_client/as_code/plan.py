"""A plan: what would be done to a cluster, in which order, and what each change does to the data.

A plan contains no secrets: its documents are those of the files, with their references, and the cluster's
values are masked. The id is derived from what the plan would do and what that does to the data, so the same
change of the same cluster always has the same id. Numbers that change by themselves, such as that of a
table's segments, are not part of it. A saved plan also has a checksum of all of its content. Both detect
changes; neither is a signature.
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
_CHECKSUM = "checksum"


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
        field: JSON pointer; it refers to columns of a schema by name.
        old: The cluster's value, with masked secrets; null with ``is_new``.
        new: The wanted value, as in the file; null with ``is_gone``.
        is_new: The cluster does not have the field.
        is_gone: The field is to be removed.
        effect: What the change does to the data.
        reason: The reason.
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
        object: The object that it applies to, e.g. ``tables/flights_OFFLINE``.
        fields: The changed fields.
        effects: What they do to the data, each effect once, the greatest first.
        segments: Number of segments concerned.
        size_bytes: Their size on all servers, in bytes; null if unknown.
        notes: Consequences, and what must be done manually.
        refusal: Why Pinot will refuse it; null if no reason is known.
        fingerprint: Checksum of the present and the wanted object, without secrets.
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
        """What identifies the step."""
        return f"{self.action} {self.object} {self.fingerprint}"

    @property
    def decided(self) -> dict[str, Any]:
        """What is approved with the step, as JSON: the change, and what it does to the data."""
        document = self.model_dump(mode="json", exclude={"segments", "size_bytes", "notes"})
        for field in document["fields"]:
            del field["reason"]
        return document

    def does_more_than(self, approved: Step) -> bool:
        """Whether it does something to the data that has more weight than anything approved."""
        return _weight(self) > _weight(approved)


class Plan(_Record):
    """A plan.

    Attributes:
        format: Version of this document's format.
        owner: Owner of the objects.
        folder: The folder that the plan was made from.
        controller: URL of the cluster's controller, without credentials.
        prune: Whether to delete objects that the owner applied and whose files are gone.
        keep_unset: Whether references to unset variables or missing files leave a field unchanged.
        steps: The steps, in order.
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
        """Checksum of what the plan would do, and of what that does to the data."""
        steps = [step.decided for step in self.steps]
        return _checksum({"owner": self.owner, "controller": self.controller, "steps": steps})[:16]

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
    """Return the checksum of a change between documents without secrets."""
    return _checksum([before, after])[:16]


def save_plan(plan: Plan, path: Path) -> None:
    """Write a plan to a file."""
    document = plan.to_json()
    document = {**document, _CHECKSUM: _checksum(document)}
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def load_plan(path: Path) -> Plan:
    """Read a plan.

    Raises:
        ConfigError: The file is not a plan, or was changed.
        FormatVersionError: A later release wrote it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES)
        document = json.loads(data)
        PLAN_FORMAT.check(document, str(path))
        stated = document.pop(_CHECKSUM)
        actual = _checksum(document)
        del document["id"]
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
            f"the file is not a plan ({type(error).__name__})",
            expected="a file that 'pinotctl diff DIR --save FILE' of this version wrote",
            where=str(path),
        ) from None
    if actual != stated:
        raise ConfigError(
            "the plan's checksum does not match its content: the file was changed after it was written",
            where=str(path),
            remedy="write it again with: pinotctl diff DIR --save FILE",
        )
    return plan


def effects_of(fields: Sequence[PlannedField]) -> tuple[Effect, ...]:
    """Return the effects of fields, each once, the greatest first."""
    found = sorted({each.effect for each in fields}, key=lambda each: -each.weight)
    more = tuple(each for each in found if each is not Effect.NOTHING)
    return more or (Effect.NOTHING,)


def _weight(step: Step) -> int:
    return max((effect.weight for effect in step.effects), default=0)


def _checksum(document: Any) -> str:
    text = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
