"""The wanted objects of a folder, in the form in which the cluster itself would store them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller_client.as_code.effects import KNOWN_FIELDS
from controller_client.as_code.fields import copy_fields, same, without_nulls
from controller_client.as_code.files import Folder
from controller_client.as_code.hiding import hide
from controller_client.as_code.live import all_of, schema_names
from controller_client.as_code.membership import TENANT_PARTS, without_members
from controller_client.as_code.normal import normal_form
from controller_client.as_code.objects import Document, Kind, ObjectRef, sort_order
from controller_client.as_code.references import References
from controller_client.common.text import did_you_mean
from controller_client.errors import ConfigError, PinotPluginError, RejectedError, UnsupportedError
from controller_client.rest.client import RestClient
from controller_client.rest.table_configs import check_references

__all__ = ["Target", "read_targets", "refusal"]


@dataclass(frozen=True)
class Target:
    """The wanted state of an object.

    Attributes:
        ref: The object.
        present: The cluster's document; None if there is none.
        document: The wanted document, with resolved references; if the cluster could read it, with the
            defaults of its version.
        shown: The same without secrets: with references as in the file.
        draft: The same with placeholders instead of the values of references: all that the cluster gets
            before it is applied.
        written: The document in the file.
        refusal: Why the cluster cannot read it; None if it can.
    """

    ref: ObjectRef
    present: Document | None = field(repr=False)
    document: Document = field(repr=False)
    shown: Document
    draft: Document
    written: Document
    refusal: str | None = None

    @property
    def differs(self) -> bool:
        """Whether the cluster's document differs."""
        return self.present is None or not same(self.present, self.document)

    @property
    def shown_present(self) -> Document | None:
        """The cluster's document without secrets."""
        return None if self.present is None else hide(self.present, self.written, old=True)


def read_targets(
    client: RestClient,
    folder: Folder,
    live: Mapping[ObjectRef, Document],
    references: References,
    *,
    keep_unset: bool,
) -> list[Target]:
    """Return the wanted objects of a folder, in the order in which they are applied.

    Objects that match the cluster need no request, others one each.

    Raises:
        ConfigError: The files have errors; the message lists all of them.
    """
    faults: list[str] = []
    remedies: list[str] = []
    targets = []
    for ref in sorted(folder.documents, key=sort_order):
        present = live.get(ref) or _empty(ref, live)
        written = without_nulls(folder.documents[ref])
        try:
            draft = references.draft(written, present if keep_unset else None, folder.settings.secrets)
            draft = copy_fields(present or {}, draft, folder.settings.pointers(ref.kind))
            targets.append(_target(ref, present, draft, written, references))
        except ConfigError as error:
            faults.append(f"{folder.files.get(ref, ref.key)}: {error.message}")
            remedies += [error.remedy] if error.remedy else []
    schemas = {ref.name for ref in live if ref.kind is Kind.SCHEMA}
    changed = [target for target in targets if target.differs]
    read = dict(
        zip(
            (target.ref for target in changed),
            all_of(_reader(client, schemas, references), changed),
            strict=True,
        )
    )
    for target in changed:
        ignored = read[target.ref][1]
        if ignored:
            faults.append(f"{folder.files.get(target.ref, target.ref.key)}: {_misspelt(target, ignored)}")
    if faults:
        raise ConfigError(
            f"{len(faults)} of {len(targets) + len(faults)} files have errors:\n  " + "\n  ".join(faults),
            where=str(folder.path),
            remedy="; ".join(dict.fromkeys(remedies)) or None,
        )
    return [read[target.ref][0] if target.ref in read else target for target in targets]


def _target(
    ref: ObjectRef, present: Document | None, draft: Document, written: Document, references: References
) -> Target:
    document = _checked(ref, references.fill(draft))
    draft = _checked(ref, draft)
    if ref.kind is Kind.TABLE:
        check_references(document, present)
    return Target(ref, present, document, hide(references.show(draft), written), draft, written)


def _reader(
    client: RestClient, schemas: set[str], references: References
) -> Callable[[Target], tuple[Target, tuple[str, ...]]]:
    """Return a function that has the cluster normalize a target, and returns the fields that it ignores."""

    def read(target: Target) -> tuple[Target, tuple[str, ...]]:
        if target.ref.kind is Kind.TABLE and not schemas & {*schema_names(target.ref.table, target.document)}:
            return target, ()  # a new table: it is read when it is checked together with its schema
        try:
            form = normal_form(client, target.ref, target.draft)
        except (RejectedError, UnsupportedError) as error:
            return replace(target, refusal=refusal(error, references, target)), ()
        draft = form.document
        read = replace(
            target,
            document=references.fill(draft),
            draft=draft,
            shown=hide(references.show(draft), target.written),
        )
        return read, form.unrecognized

    return read


def refusal(error: PinotPluginError, references: References, *targets: Target) -> str:
    """Return why the cluster refuses targets, without values of references."""
    reason = references.clean(error.message)
    if all(same(target.draft, target.document) for target in targets):
        return reason
    return f"{reason} (it was checked with placeholders instead of the values of its references)"


def _empty(ref: ObjectRef, live: Mapping[ObjectRef, Document]) -> Document | None:
    """Return the empty form of an object that always exists; None for other objects."""
    if ref.kind is Kind.CONSUMPTION and ObjectRef(Kind.TABLE, ref.name) not in live:
        return {"table": ref.name, "paused": False}  # the state of a new table
    return without_members(ref)


def _checked(ref: ObjectRef, document: Document) -> Document:
    """Check and sort a document in this project's own form; the cluster checks the others.

    Raises:
        ConfigError: It has an unknown key, or a value of the wrong type.
    """
    if ref.kind is Kind.TENANT:
        _only_keys(document, {"tenant", *TENANT_PARTS})
        return {"tenant": ref.name, **{part: _names(document, part) for part in TENANT_PARTS}}
    if ref.kind is Kind.INSTANCE:
        _only_keys(document, {"instance", "tags"})
        return {"instance": ref.name, "tags": _names(document, "tags")}
    if ref.kind is Kind.CONSUMPTION:
        _only_keys(document, {"table", "paused", "reason"})
        if not isinstance(document.get("paused"), bool):
            raise ConfigError("paused is neither true nor false", expected="true or false")
        return {"table": ref.name, "paused": document["paused"]}
    return document


def _only_keys(document: Document, known: set[str]) -> None:
    for key in document:
        if key not in known:
            hint = did_you_mean(key, known, otherwise=f"known keys: {', '.join(sorted(known))}")
            raise ConfigError(f"unknown key {key}: {hint}")


def _names(document: Document, key: str) -> list[str]:
    value: Any = document.get(key) or []
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise ConfigError(f"{key} is no list of names", expected="a list of names")
    return sorted(set(value))


def _misspelt(target: Target, ignored: tuple[str, ...]) -> str:
    known_keys = _keys(target.present or {}) | _keys(target.document) | KNOWN_FIELDS
    hints = []
    # Pinot names each value below an unknown field; the last part of a pointer that is not an index matters.
    for field_ in dict.fromkeys(re.sub(r"(/[0-9]+)+$", "", each) for each in ignored):
        name = field_.rsplit("/", 1)[-1]
        hint = did_you_mean(name, known_keys - {name}, otherwise="")
        hints.append(f"{field_} ({hint})" if hint else field_)
    return f"Pinot does not know {', '.join(hints)}"


def _keys(document: Any) -> set[str]:
    if isinstance(document, Mapping):
        return {*document, *(key for value in document.values() for key in _keys(value))}
    return {key for value in document for key in _keys(value)} if isinstance(document, list) else set()
