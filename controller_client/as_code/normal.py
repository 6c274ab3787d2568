"""The form in which a cluster stores an object, with the defaults of its own version."""

from __future__ import annotations

from controller_client.as_code.fields import without_nulls
from controller_client.as_code.objects import Document, Kind, ObjectRef
from controller_client.rest.client import RestClient
from controller_client.rest.configs import ReadConfig

__all__ = ["normal_form"]

_DEFAULT_TENANT = "DefaultTenant"


def normal_form(client: RestClient, ref: ObjectRef, document: Document) -> ReadConfig:
    """Have the controller normalize a schema or a table config; other kinds are already in normal form.

    Args:
        client: Client of the controller.
        ref: The object; a table's schema must exist in the cluster.
        document: The document.

    Raises:
        RejectedError: The controller cannot read it.
    """
    if ref.kind is Kind.SCHEMA:
        read = client.configs.read_schema(document)
        return ReadConfig(without_nulls(read.document), read.unrecognized)
    if ref.kind is Kind.TABLE:
        read = client.configs.read_table(document)
        return ReadConfig(_with_tenants(without_nulls(read.document)), read.unrecognized)
    return ReadConfig(dict(document), ())


def _with_tenants(document: Document) -> dict[str, object]:
    """Fill in the tenants: the cluster does that only when it stores a table, not when it reads one."""
    tenants = document.get("tenants") or {}
    return {**document, "tenants": {"broker": _DEFAULT_TENANT, "server": _DEFAULT_TENANT, **tenants}}
