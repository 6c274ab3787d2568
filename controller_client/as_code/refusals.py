"""Find out what a cluster will refuse before anything is changed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from controller_client.as_code.fields import value_at
from controller_client.as_code.live import all_of, schema_name
from controller_client.as_code.objects import Document, Kind, ObjectRef
from controller_client.as_code.references import References
from controller_client.as_code.wanted import Target, refusal
from controller_client.common.names import TableType
from controller_client.consumption.state.pause_record import EXPLICIT, read_record
from controller_client.errors import ConfigError, RejectedError, UnsupportedError
from controller_client.models import Schema, TableConfig
from controller_client.models.segment import wrong_times
from controller_client.publishing.targets import FILE_INGESTION, check_target
from controller_client.rest.capabilities import Capability
from controller_client.rest.client import RestClient
from controller_client.zookeeper import PropertyStore

__all__ = ["emptied_tenant", "find_refusals"]

_UPSERT_FIELDS = (
    "mode",
    "hashFunction",
    "comparisonColumns",
    "dropOutOfOrderRecord",
    "outOfOrderRecordColumn",
    "partialUpsertStrategies",
    "defaultPartialUpsertStrategy",
)
_DEDUP_FIELDS = ("hashFunction", "dedupTimeColumn")


def find_refusals(
    client: RestClient,
    store: PropertyStore,
    targets: Sequence[Target],
    live: Mapping[ObjectRef, Document],
    others: Mapping[ObjectRef, str],
    references: References,
) -> dict[ObjectRef, str]:
    """Return the objects that the cluster will refuse, with the reasons.

    The controller checks changed schemas together with the tables that use them. It gets placeholders
    instead of the values of references.

    Args:
        client: Client of the controller.
        store: The cluster's property store.
        targets: The wanted objects.
        live: The cluster's objects.
        others: Objects of other owners, with the owners' names.
        references: What the targets' references were resolved with.
    """
    refusals: dict[ObjectRef, str] = {}
    by_ref = {target.ref: target for target in targets}
    instances = functools.cache(lambda: frozenset(client.instances.list()))
    for target in targets:
        if not target.differs:
            continue
        if target.ref in others:
            refusals[target.ref] = (
                f"it belongs to the owner {others[target.ref]}: change it in that owner's files"
            )
        elif target.refusal:
            refusals[target.ref] = target.refusal
        else:
            reason = _by_rule(client, store, target, by_ref, live, instances)
            if reason:
                refusals[target.ref] = references.clean(reason)
    for refs, reason in _checked(client, by_ref, live, references):
        for ref in refs:
            if reason and ref in by_ref and by_ref[ref].differs:
                refusals.setdefault(ref, reason)
    return refusals


def _by_rule(
    client: RestClient,
    store: PropertyStore,
    target: Target,
    targets: Mapping[ObjectRef, Target],
    live: Mapping[ObjectRef, Document],
    instances: Callable[[], frozenset[str]],
) -> str | None:
    if target.ref.kind is Kind.CONSUMPTION:
        table = ObjectRef(Kind.TABLE, target.ref.name)
        if table not in targets and table not in live:
            return f"there is no table {target.ref.name}"
        return None if target.document["paused"] else _paused_by_others(store, target.ref)
    if target.ref.kind is Kind.TABLE:
        unfit = _no_target(client, target, targets, live)
        if unfit or target.present is None:
            return unfit
        if client.cluster.capabilities().has(Capability.UPSERT_CHANGE_REFUSED):
            return _upsert_change(target.present, target.document)
        return None
    if target.ref.kind in (Kind.TENANT, Kind.INSTANCE):
        return _unknown_instances(target, instances()) or emptied_tenant(target, live)
    return None


def emptied_tenant(target: Target, live: Mapping[ObjectRef, Document]) -> str | None:
    """Return why a tenant cannot lose its last broker or server: the tables that use it."""
    if target.ref.kind is not Kind.TENANT:
        return None
    for role, parts in (("broker", ("brokers",)), ("server", ("offline_servers", "realtime_servers"))):
        if not any(target.document[part] for part in parts):
            tables = [
                ref.name
                for ref, config in live.items()
                if ref.kind is Kind.TABLE and (config.get("tenants") or {}).get(role) == target.ref.name
            ]
            if tables:
                return f"it would have no {role}, but {', '.join(sorted(tables))} would still use it"
    return None


def _no_target(
    client: RestClient,
    target: Target,
    targets: Mapping[ObjectRef, Target],
    live: Mapping[ObjectRef, Document],
) -> str | None:
    """Return why a table that has FileIngestionTask cannot be filled by it."""
    tasks = (target.document.get("task") or {}).get("taskTypeConfigsMap") or {}
    if FILE_INGESTION not in tasks:
        return None
    schemas = {ref.name for ref in (*live, *targets) if ref.kind is Kind.SCHEMA}
    name = schema_name(target.ref.table, target.document, schemas)
    if name is None:
        return None  # reported with the checks of the controller
    try:
        schema = Schema.from_json(_document(ObjectRef(Kind.SCHEMA, name), targets, live))
        check_target(TableConfig.from_json(target.document), schema, client.cluster.capabilities)
    except (ConfigError, UnsupportedError) as error:
        return f"{FILE_INGESTION} cannot fill it: {error.message}; {error.remedy}"
    return None


def _paused_by_others(store: PropertyStore, ref: ObjectRef) -> str | None:
    """Return who else has the table paused and will resume it; None if nobody does."""
    record = read_record(store, ref.table)
    holders = [] if record is None else [each for name, each in record.holders.items() if name != EXPLICIT]
    if not holders:
        return None
    return f"it is paused by {', '.join(each.by for each in holders)}, which will resume it"


def _upsert_change(old: Document, new: Document) -> str | None:
    changed = []
    for part, fields in (("upsertConfig", _UPSERT_FIELDS), ("dedupConfig", _DEDUP_FIELDS)):
        if _enabled(old, part) and _enabled(new, part):
            changed += [
                f"{part}.{field}"
                for field in fields
                if value_at(old, (part, field)) != value_at(new, (part, field))
            ]
    return f"Pinot refuses to change {', '.join(changed)} of a table that has rows" if changed else None


def _enabled(config: Document, part: str) -> bool:
    table = TableConfig.from_json(config)
    return table.pinots_upsert is not None if part == "upsertConfig" else table.pinots_dedup


def _unknown_instances(target: Target, known: frozenset[str]) -> str | None:
    named = {target.ref.name} if target.ref.kind is Kind.INSTANCE else _instances(target.document)
    missing = sorted(named - known)
    return f"there is no instance {', '.join(missing)}" if missing else None


def _instances(document: Document) -> set[str]:
    return {name for value in document.values() if isinstance(value, list) for name in value}


def _checked(
    client: RestClient,
    targets: Mapping[ObjectRef, Target],
    live: Mapping[ObjectRef, Document],
    references: References,
) -> list[tuple[set[ObjectRef], str | None]]:
    """Have the controller check each raw name that has a change; return its refusals."""
    schemas = {ref.name for ref in (*live, *targets) if ref.kind is Kind.SCHEMA}
    tables = {ref: _document(ref, targets, live) for ref in (*live, *targets) if ref.kind is Kind.TABLE}
    by_name: dict[str, dict[ObjectRef, Document]] = {}
    for ref, config in tables.items():
        by_name.setdefault(ref.table.raw, {})[ref] = config
    skip = (
        ("TASK", "TENANT")
        if any(target.ref.kind is Kind.TENANT and target.differs for target in targets.values())
        else ("TASK",)
    )

    def check(raw: str) -> tuple[set[ObjectRef], str | None]:
        configs = by_name[raw]
        names = {schema_name(ref.table, config, schemas) for ref, config in configs.items()}
        refs = {*configs, *(ObjectRef(Kind.SCHEMA, name) for name in names if name)}
        if not any(ref in targets and targets[ref].differs for ref in refs):
            return refs, None
        name = next(iter(names))
        if name is None:
            return refs, f"its schema {raw} is neither in the cluster nor in the files"
        schema_ref = ObjectRef(Kind.SCHEMA, name)
        schema = _document(schema_ref, targets, live)
        by_type: dict[TableType, Document] = {ref.table.type: _draft(ref, targets, live) for ref in configs}
        try:
            ignored = client.configs.check(raw, _draft(schema_ref, targets, live), by_type, skip=skip)
        except RejectedError as error:
            return refs, refusal(error, references, *(targets[ref] for ref in refs if ref in targets))
        if ignored:
            return refs, f"Pinot does not know {', '.join(ignored)}"
        for ref, config in configs.items():
            reason = _wrong_times(config, schema)
            if reason and not (ref in live and _wrong_times(live[ref], live.get(schema_ref, schema))):
                return refs, references.clean(reason)
        return refs, None

    return all_of(check, sorted(by_name))


def _wrong_times(config: Document, schema: Document) -> str | None:
    return wrong_times(TableConfig.from_json(config), Schema.from_json(schema))


def _document(
    ref: ObjectRef, wanted: Mapping[ObjectRef, Target], live: Mapping[ObjectRef, Document]
) -> Document:
    return wanted[ref].document if ref in wanted else live[ref]


def _draft(
    ref: ObjectRef, wanted: Mapping[ObjectRef, Target], live: Mapping[ObjectRef, Document]
) -> Document:
    return wanted[ref].draft if ref in wanted else live[ref]
