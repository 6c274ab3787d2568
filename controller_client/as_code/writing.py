"""Writing one object into the cluster, and reading it back."""

from __future__ import annotations

import logging
from collections.abc import Callable

from controller_client.as_code.fields import changes, value_at
from controller_client.as_code.inventory import BROKERS, Inventory
from controller_client.as_code.live import read_object
from controller_client.as_code.membership import members, tags_with_members, tags_with_others
from controller_client.as_code.normal import normal_form
from controller_client.as_code.objects import Document, Kind, ObjectRef
from controller_client.as_code.wanted import Target
from controller_client.common.waiting import wait_until
from controller_client.errors import (
    AppliedError,
    ConflictError,
    NotFoundError,
    OutcomeUnknownError,
    WaitTimeoutError,
)
from controller_client.rest.client import RestClient

__all__ = ["ObjectWriter"]

logger = logging.getLogger(__name__)

_SETTLE_S = 30.0
_GONE_S = 120.0
_BROKER = ("tenants", "broker")


class ObjectWriter:
    """Writes objects; each write is read back.

    Args:
        client: Client of the controller.
        inventory: Records of the owner.
    """

    def __init__(self, client: RestClient, inventory: Inventory) -> None:
        self._client = client
        self._inventory = inventory

    def write(self, target: Target) -> None:
        """Make an object as it should be.

        Raises:
            ConflictError: It is no longer as it was when the plan was made.
            RejectedError: The cluster refuses it.
            OutcomeUnknownError: It is unknown whether it was applied.
            AppliedError: It was applied, and the cluster has made something else of it.
        """
        if target.ref.kind is Kind.TENANT:
            self._write_tenant(target)
        elif target.ref.kind is Kind.INSTANCE:
            present = self._client.instances.tags(target.ref.name)
            self._set_tags(
                target.ref.name, tags_with_others(target.ref.name, present, target.document["tags"])
            )
        else:
            self._write_config(target)

    def assign_brokers(self, ref: ObjectRef) -> None:
        """Let the brokers of a table's tenant serve it; errors as of :meth:`write`."""
        self._client.tables.rebuild_brokers(ref.name)
        self._inventory.done(ref, BROKERS)

    def delete(self, ref: ObjectRef) -> None:
        """Delete a table with its segments, or a schema; returns when it is gone.

        Raises:
            RejectedError: The cluster refuses.
            OutcomeUnknownError: It is unknown whether it was applied.
            WaitTimeoutError: It is still there.
        """
        try:
            if ref.kind is Kind.TABLE:
                self._client.tables.delete(ref.name)
            else:
                self._client.schemas.delete(ref.name)
        except NotFoundError:
            return  # an apply before this one, or somebody else, was quicker
        except OutcomeUnknownError as error:
            self._settle(ref, lambda now: now is None, error)
        wait_until(
            lambda: None if read_object(self._client, ref) is None else "it is still there",
            what=f"the {ref} to be gone",
            timeout_s=_GONE_S,
            clock=self._client.clock,
        )

    def _write_config(self, target: Target) -> None:
        ref, document = target.ref, target.document
        now = read_object(self._client, ref)
        if now == document:
            return
        if now != target.present:
            raise ConflictError(
                f"the {ref} was changed by somebody else since the plan was made",
                where=ref.key,
                remedy="make the plan again, look at it, and apply that one",
            )
        other_brokers = now is not None and value_at(now, _BROKER) != value_at(document, _BROKER)
        if other_brokers:
            self._inventory.add_pending(ref, BROKERS)
        try:
            self._send(ref, document, is_new=now is None)
        except OutcomeUnknownError as error:
            self._settle(ref, lambda found: found is not None and found != now, error)
        if other_brokers:
            self.assign_brokers(ref)
        # The defaults of a new object could not be known before its schema was there.
        wanted = document if target.present is not None else normal_form(self._client, ref, document).document
        found = read_object(self._client, ref)
        different = [change.path for change in changes(wanted, found or {})]
        if different:
            raise AppliedError(
                f"the {ref} was written, and the cluster has values other than the file's for"
                f" {', '.join(different)}",
                where=ref.key,
                remedy="somebody changed it at the same moment, or the cluster sets them: run the diff,"
                " then write its values into the file, or name the fields in 'unmanaged' of cluster.yaml",
            )

    def _send(self, ref: ObjectRef, document: Document, *, is_new: bool) -> None:
        configs = self._client.configs
        if ref.kind is Kind.SCHEMA:
            if is_new:
                configs.create_schema(document)
            else:
                configs.update_schema(ref.name, document)
        elif is_new:
            configs.create_table(document)
        else:
            configs.update_table(ref.table, document)

    def _settle(
        self, ref: ObjectRef, applied: Callable[[Document | None], bool], error: OutcomeUnknownError
    ) -> None:
        """Read the state back until it shows that a call was applied."""
        try:
            wait_until(
                lambda: None if applied(read_object(self._client, ref)) else "it is as before",
                what=f"the {ref} to be as it was written",
                timeout_s=_SETTLE_S,
                clock=self._client.clock,
            )
        except WaitTimeoutError:
            raise error from None
        logger.info("%s was applied, although its reply was lost", ref)

    def _write_tenant(self, target: Target) -> None:
        before, after = members(read_object(self._client, target.ref)), members(target.document)
        for instance in sorted({instance for instance, _ in before ^ after}):
            present = self._client.instances.tags(instance)
            add = [tag for name, tag in after - before if name == instance]
            remove = [tag for name, tag in before - after if name == instance]
            self._set_tags(instance, tags_with_members(instance, present, add, remove))

    def _set_tags(self, instance: str, tags: list[str]) -> None:
        if not tags:
            raise ConflictError(
                f"the instance {instance} would have no tag, which Pinot refuses",
                where=instance,
                remedy="leave it one, e.g. minion_untagged",
            )
        try:
            self._client.instances.set_tags(instance, tags, update_broker_resource=True)
        except OutcomeUnknownError:
            if set(self._client.instances.tags(instance)) != set(tags):
                raise
