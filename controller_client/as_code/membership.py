"""Tenants and instances: both are tags of instances, split so that each tag is in one file.

The tags of tenants (``X_BROKER``, ``X_OFFLINE``, ``X_REALTIME`` of brokers and servers) are in the files of
tenants, and all other tags are in those of instances. ``broker_untagged`` and ``server_untagged`` are in no
file: an instance has one of them while it has no tenant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from controller_client.as_code.objects import Document, Kind, ObjectRef

__all__ = [
    "TENANT_PARTS",
    "instance_documents",
    "members",
    "tags_with_members",
    "tags_with_others",
    "without_members",
]

TENANT_PARTS = {"brokers": "_BROKER", "offline_servers": "_OFFLINE", "realtime_servers": "_REALTIME"}
"""Key in a tenant's document -> suffix of the tag of the instances that it names."""

_UNTAGGED = {"Broker_": "broker_untagged", "Server_": "server_untagged"}


def instance_documents(tags: Mapping[str, Sequence[str]]) -> dict[ObjectRef, Document]:
    """Return the documents of tenants and instances.

    Args:
        tags: Tags by instance.

    Returns:
        The documents of all tenants, and of the instances that have other tags.
    """
    tenants: dict[str, dict[str, list[str]]] = {}
    documents: dict[ObjectRef, Document] = {}
    for instance in sorted(tags):
        if instance.startswith("Controller_"):
            continue  # its tag belongs to Helix
        others = []
        for tag in tags[instance]:
            tenant, part = _tenant_of(instance, tag)
            if part is not None:
                tenants.setdefault(tenant, {key: [] for key in TENANT_PARTS})[part].append(instance)
            elif tag not in _UNTAGGED.values():
                others.append(tag)
        if others:
            documents[ObjectRef(Kind.INSTANCE, instance)] = {"instance": instance, "tags": sorted(others)}
    for name, parts in tenants.items():
        documents[ObjectRef(Kind.TENANT, name)] = {"tenant": name, **parts}
    return documents


def without_members(ref: ObjectRef) -> Document | None:
    """Return an empty tenant or instance, which always exists; None for other kinds."""
    if ref.kind is Kind.TENANT:
        return {"tenant": ref.name, **{part: [] for part in TENANT_PARTS}}
    return {"instance": ref.name, "tags": []} if ref.kind is Kind.INSTANCE else None


def members(document: Document | None) -> set[tuple[str, str]]:
    """Return the tags that a tenant's document gives to instances, as pairs of instance and tag."""
    if document is None:
        return set()
    return {
        (instance, f"{document['tenant']}{end}")
        for part, end in TENANT_PARTS.items()
        for instance in document.get(part) or ()
    }


def tags_with_members(
    instance: str, present: Iterable[str], add: Iterable[str], remove: Iterable[str]
) -> list[str]:
    """Return the tags that an instance has after a change of its tenants."""
    tags = [tag for tag in present if tag not in set(remove) and tag not in _UNTAGGED.values()]
    tags += [tag for tag in sorted(set(add)) if tag not in tags]
    return _untagged_if_free(instance, tags)


def tags_with_others(instance: str, present: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return the tags that an instance has after a change of its other tags."""
    of_tenants = [tag for tag in present if _tenant_of(instance, tag)[1] is not None]
    return _untagged_if_free(instance, [*of_tenants, *sorted(set(others))])


def _untagged_if_free(instance: str, tags: list[str]) -> list[str]:
    untagged = next((tag for start, tag in _UNTAGGED.items() if instance.startswith(start)), None)
    if untagged and not any(_tenant_of(instance, tag)[1] for tag in tags):
        tags.append(untagged)
    return tags


def _tenant_of(instance: str, tag: str) -> tuple[str, str | None]:
    """Return the tenant of a tag and its key in a tenant's document; None as key if it is no tenant's tag."""
    for part, end in TENANT_PARTS.items():
        kind = "Broker_" if part == "brokers" else "Server_"
        if tag.endswith(end) and instance.startswith(kind) and tag != end:
            return tag.removesuffix(end), part
    return tag, None
