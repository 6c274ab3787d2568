"""Write one object to the cluster, and read it back."""

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
from controller_client.common.outcomes import keeping_outcome
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
        """Bring an object to its wanted state.

        Raises:
            ConflictError: The object has changed since the plan was made.
            RejectedError: The cluster refuses the change.
            OutcomeUnknownError: It is unknown whether the change was applied.
            AppliedError: The change was applied, but the cluster stored something else.
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
        """Assign the brokers of its tenant to a table; errors as for :meth:`write`."""
        self._client.tables.rebuild_brokers(ref.name)
        self._inventory.done(ref, BROKERS)

    def delete(self, ref: ObjectRef) -> None:
        """Delete a table with its segments, or a schema; return once it is gone.

        Raises:
            RejectedError: The cluster refuses the deletion.
            OutcomeUnknownError: It is unknown whether the deletion was applied.
            WaitTimeoutError: The object still exists.
        """
        try:
            if ref.kind is Kind.TABLE:
                self._client.tables.delete(ref.name)
            else:
                self._client.schemas.delete(ref.name)
        except NotFoundError:
            return  # already deleted by an earlier apply or by somebody else
        except OutcomeUnknownError as error:
            self._settle(ref, lambda now: now is None, error)
        wait_until(
            lambda: None if read_object(self._client, ref) is None else "it still exists",
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
                f"somebody else has changed the {ref} since the plan was made",
                where=ref.key,
                remedy="create a new plan, review it, and apply that",
            )
        other_brokers = now is not None and value_at(now, _BROKER) != value_at(document, _BROKER)
        if other_brokers:
            self._inventory.add_pending(ref, BROKERS)
        try:
            self._send(ref, document, is_new=now is None)
        except OutcomeUnknownError as error:
            self._settle(ref, lambda actual: actual is not None and actual != now, error)
        written = AppliedError(
            f"the {ref} was written, but what follows failed", where=ref.key, remedy="run the apply again"
        )
        with keeping_outcome(written):
            if other_brokers:
                self.assign_brokers(ref)
            # The defaults of a new object were not known before its schema existed.
            is_new = target.present is None
            expected = normal_form(self._client, ref, document).document if is_new else document
            actual = read_object(self._client, ref)
        different = [change.path for change in changes(expected, actual or {})]
        if different:
            raise AppliedError(
                f"the {ref} was written, but the cluster has other values than the file for"
                f" {', '.join(different)}",
                where=ref.key,
                remedy="somebody changed it at the same moment, or the cluster sets these fields: run"
                " 'pinotctl diff', then copy its values to the file, or list the fields in 'unmanaged' of"
                " cluster.yaml",
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
            with keeping_outcome(error):
                wait_until(
                    lambda: None if applied(read_object(self._client, ref)) else "it is unchanged",
                    what=f"the {ref} to be as it was written",
                    timeout_s=_SETTLE_S,
                    clock=self._client.clock,
                )
        except WaitTimeoutError:
            raise error from None
        logger.info("%s was applied, although the reply was lost", ref)

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
                f"the instance {instance} would have no tags, which Pinot refuses",
                where=instance,
                remedy="keep at least one tag, e.g. minion_untagged",
            )
        try:
            self._client.instances.set_tags(instance, tags, update_broker_resource=True)
        except OutcomeUnknownError as error:
            with keeping_outcome(error):
                present = self._client.instances.tags(instance)
            if set(present) != set(tags):
                raise
