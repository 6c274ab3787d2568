"""The steps of a plan: what changes in an object, and what that does to the data."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from controller_client.as_code.effects import Effect, FieldEffect, table_effect
from controller_client.as_code.fields import ABSENT, FieldChange, by_name, changes, value_at
from controller_client.as_code.live import schema_name
from controller_client.as_code.objects import Document, Kind, ObjectRef
from controller_client.as_code.plan import Action, PlannedField, Step, effects_of, fingerprint
from controller_client.as_code.schema_effects import columns_of, schema_effect
from controller_client.as_code.table_data import DataSize, expired_segments, size_of
from controller_client.as_code.wanted import Target
from controller_client.common.names import TableName, TableType
from controller_client.common.text import counted_text
from controller_client.models import retention_ms
from controller_client.rest.client import RestClient
from controller_client.zookeeper import PropertyStore

__all__ = ["StepMaker", "shown_values"]

_RETENTION = ("retentionTimeUnit", "retentionTimeValue")


class StepMaker:
    """Makes the steps of one plan; the size of a table's data is read only once.

    Args:
        client: Client of the controller.
        store: The cluster's property store.
        live: The cluster's objects.
    """

    def __init__(
        self,
        client: RestClient,
        store: PropertyStore,
        live: Mapping[ObjectRef, Document],
    ) -> None:
        self._client, self._store, self._live = client, store, live
        self._capabilities = client.cluster.capabilities()
        self._schemas = {ref.name for ref in live if ref.kind is Kind.SCHEMA}
        self.size = functools.cache(lambda table: size_of(client, table))
        """Return the size of a table's data."""

    def step(self, target: Target, refusal: str | None) -> Step:
        """Return the step that brings an object to its wanted state.

        Args:
            target: The object; it differs from the cluster's.
            refusal: Why the cluster will refuse it, if known.
        """
        shown_old, shown_new = target.shown_present, target.shown
        key = fingerprint(shown_old, shown_new)
        if target.ref.kind is Kind.CONSUMPTION:
            return self._consumption(target, refusal, key)
        if target.present is None:
            new = tuple(
                PlannedField(field=change.path, new=change.new, is_new=True)
                for change in changes({}, shown_new)
            )
            return Step(
                action=Action.CREATE, object=target.ref.key, fields=new, refusal=refusal, fingerprint=key
            )
        fields = tuple(
            self._field(target, change, shown_old or {}, shown_new)
            for change in changes(target.present, target.document)
        )
        size = self._touched(target, fields)
        impossible = [each.reason for each in fields if each.effect is Effect.IMPOSSIBLE]
        return Step(
            action=Action.UPDATE,
            object=target.ref.key,
            fields=fields,
            effects=effects_of(fields),
            segments=size.segments,
            size_bytes=size.size_bytes,
            notes=tuple(self._notes(target, fields)),
            refusal="; ".join(dict.fromkeys(impossible)) or refusal,
            fingerprint=key,
        )

    def reloaded_tables(self, step: Step) -> list[ObjectRef]:
        """Return the tables whose segments must be reloaded after a step."""
        if Effect.RELOAD not in step.effects or step.refusal:
            return []
        if step.ref.kind is Kind.TABLE:
            return [step.ref]
        return list(self._tables_of(step.ref.name))

    def _consumption(self, target: Target, refusal: str | None, key: str) -> Step:
        paused = bool(target.document["paused"])
        field = PlannedField(
            field="/paused", old=not paused, new=paused, reason="a paused table does not read its stream"
        )
        return Step(
            action=Action.PAUSE if paused else Action.RESUME,
            object=target.ref.key,
            fields=(field,),
            refusal=refusal,
            fingerprint=key,
        )

    def _field(
        self, target: Target, change: FieldChange, shown_old: Document, shown_new: Document
    ) -> PlannedField:
        old, new = shown_values(change, shown_old, shown_new)
        effect = self._effect(target, change)
        return PlannedField(
            field=change.path,
            old=None if old is ABSENT else old,
            new=None if new is ABSENT else new,
            is_new=change.old is ABSENT,
            is_gone=change.new is ABSENT,
            effect=effect.effect,
            reason=effect.reason,
        )

    def _effect(self, target: Target, change: FieldChange) -> FieldEffect:
        if target.ref.kind is Kind.SCHEMA:
            return schema_effect(change, target.present or {}, target.document, self._capabilities)
        if target.ref.kind is Kind.TABLE:
            if change.pointer[0] == "segmentsConfig" and change.pointer[-1] in _RETENTION:
                return self._retention(target)
            if change.pointer[:2] == ("ingestionConfig", "transformConfigs") and self._makes_new_columns(
                target, change
            ):
                return FieldEffect(
                    Effect.RELOAD, "the column is new: servers compute it when they reload segments"
                )
            return table_effect(change, target.document, self._capabilities)
        if target.ref.kind is Kind.TENANT and change.pointer[0] != "brokers":
            if not any(self._tables_on(target.ref.name)):
                return FieldEffect(Effect.NOTHING, "no table uses its servers")
            return FieldEffect(
                Effect.REBALANCE, "segments stay where they are until the tenant's tables are rebalanced"
            )
        return FieldEffect(Effect.NOTHING, "it only concerns instances")

    def _retention(self, target: Target) -> FieldEffect:
        before, after = (
            retention_ms(target.ref.table, each) for each in (target.present or {}, target.document)
        )
        if after is None or (before is not None and after >= before):
            return FieldEffect(Effect.NOTHING, "segments are kept at least as long as before")
        expired = self._expired(target.ref.table, after)
        if not expired:
            return FieldEffect(Effect.NOTHING, "no segment is older than that now")
        return FieldEffect(
            Effect.DELETION,
            f"within hours, Pinot deletes {counted_text(len(expired), 'segment')} with older rows",
        )

    def _expired(self, table: TableName, keep_ms: int) -> set[str]:
        return expired_segments(self._store, table, keep_ms, round(self._client.clock.now() * 1000))

    def _makes_new_columns(self, target: Target, change: FieldChange) -> bool:
        """Whether a change of transforms only concerns columns that the schema does not have yet."""

        def transforms(value: object) -> dict[str, object]:
            return {str(each.get("columnName")): each for each in value} if isinstance(value, list) else {}

        old, new = transforms(change.old), transforms(change.new)
        touched = {name for name in {*old, *new} if old.get(name) != new.get(name)}
        name = schema_name(target.ref.table, target.document, self._schemas)
        present = columns_of(self._live.get(ObjectRef(Kind.SCHEMA, name or "")))
        return bool(touched) and not touched & present.keys()

    def _touched(self, target: Target, fields: tuple[PlannedField, ...]) -> DataSize:
        """Return how much data a change concerns; none if it does nothing to data."""
        moving = {Effect.RELOAD, Effect.REBALANCE, Effect.RE_INGEST, Effect.DELETION, Effect.UNKNOWN}
        if not moving & {each.effect for each in fields}:
            return DataSize()
        return sum((self.size(ref.table) for ref in self._concerned_tables(target)), DataSize())

    def _concerned_tables(self, target: Target) -> Iterator[ObjectRef]:
        """Yield the tables whose data a change of an object concerns."""
        if target.ref.kind is Kind.TABLE:
            yield target.ref
        elif target.ref.kind is Kind.SCHEMA:
            yield from self._tables_of(target.ref.name)
        else:
            yield from self._tables_on(target.ref.name)

    def _notes(self, target: Target, fields: tuple[PlannedField, ...]) -> Iterator[str]:
        effects = {each.effect for each in fields}
        if Effect.RELOAD in effects and any(
            ref.table.type is TableType.REALTIME for ref in self._concerned_tables(target)
        ):
            yield "consuming segments stay as they are; the change applies from their next segments on"
        if target.ref.kind is Kind.TABLE and Effect.REBALANCE in effects:
            yield f"afterwards, run: pinotctl table rebalance {target.ref.name}"
        if target.ref.kind is Kind.TENANT and Effect.REBALANCE in effects:
            names = ", ".join(ref.name for ref in self._tables_on(target.ref.name))
            yield f"afterwards, rebalance the tenant's tables: {names}"
        if Effect.RE_INGEST in effects:
            yield "existing segments stay as they are: rebuild them from their source"
        if Effect.RESTART in effects:
            yield "servers must be restarted, one after another"

    def _tables_of(self, schema: str) -> Iterator[ObjectRef]:
        """Yield the cluster's tables that use a schema."""
        for ref, config in self._live.items():
            if ref.kind is Kind.TABLE and schema_name(ref.table, config, self._schemas) == schema:
                yield ref

    def _tables_on(self, tenant: str) -> Iterator[ObjectRef]:
        """Yield the cluster's tables that use the servers of a tenant."""
        for ref, config in self._live.items():
            if ref.kind is Kind.TABLE and (config.get("tenants") or {}).get("server") == tenant:
                yield ref


def shown_values(change: FieldChange, shown_old: Document, shown_new: Document) -> tuple[Any, Any]:
    """Return the values of a field before and after a change, as they may be shown.

    Args:
        change: The change.
        shown_old: The cluster's object, with masked secrets.
        shown_new: The wanted object, with masked secrets.
    """
    old, new = value_at(shown_old, change.pointer), value_at(shown_new, change.pointer)
    named_old, named_new = by_name(old), by_name(new)
    if named_old and named_new:
        # Only their order differs: a change of a column is a separate field.
        return [*named_old], [*named_new]
    return old, new
