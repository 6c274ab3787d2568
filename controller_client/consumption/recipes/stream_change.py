"""A change of a table's stream config that any later run can finish or undo.

Everybody may read this project's znodes, so the plan of a change contains no secrets, only the names of
secret keys. The values are where Pinot keeps them anyway, in the table's config:

=============  ==================================================  =====================================
the value      before the table's config is updated                afterwards
=============  ==================================================  =====================================
new            only with the caller, who passes it again later     in the stream config
old            in the stream config                                in ``metadata.customConfigs``, written
                                                                   by the same update, until the change is
                                                                   finished or undone
=============  ==================================================  =====================================

Keys that do not change are not touched, so others may change them meanwhile.
"""

from __future__ import annotations

import copy
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from controller_client.common.redaction import is_secret
from controller_client.errors import ConfigError, ConflictError
from controller_client.models import TableConfig
from controller_client.stream.config import StreamConfig, with_stream

__all__ = ["KEPT_SECRETS", "StreamChange"]

KEPT_SECRETS = "pinotPlugins.changeStream"
"""Key in a table's custom configs: the old values of the secret keys that a change replaces, as JSON."""

Values = Mapping[str, str | None]


@dataclass(frozen=True)
class StreamChange:
    """Which keys change, without the values of secret ones.

    Attributes:
        change_id: Distinguishes the old secrets of this change from those of another.
        old: Public keys that change, with their old values; None for a key that was not set.
        new: The same keys with their new values; None removes a key.
        secret_keys: Keys that change and whose values are secret, sorted.
    """

    change_id: str
    old: Values
    new: Values
    secret_keys: tuple[str, ...]

    @classmethod
    def between(cls, old: StreamConfig, new: StreamConfig) -> Self:
        """Return the change from one stream config to another."""
        keys = old.differences(new)
        secret = tuple(key for key in keys if is_secret(key, old.values.get(key), new.values.get(key)))
        public = [key for key in keys if key not in secret]
        return cls(
            uuid.uuid4().hex,
            {key: old.values.get(key) for key in public},
            {key: new.values.get(key) for key in public},
            secret,
        )

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_data` wrote."""
        return cls(data["change_id"], data["old"], data["new"], tuple(data["secret_keys"]))

    def to_data(self) -> dict[str, Any]:
        """Return the JSON form, which contains no secrets."""
        return {
            "change_id": self.change_id,
            "old": dict(self.old),
            "new": dict(self.new),
            "secret_keys": list(self.secret_keys),
        }

    @property
    def keys(self) -> list[str]:
        """The keys that change, sorted."""
        return sorted([*self.new, *self.secret_keys])

    def is_applied(self, table: TableConfig) -> bool:
        """Return whether a table's config has the new stream."""
        if self.secret_keys:
            return self._kept(table) is not None
        return self._has(table, self.new)

    def check_secrets(self, table: TableConfig, changes: Values) -> None:
        """Check that the values needed to apply the change are given; errors as for :meth:`applied`."""
        missing = [key for key in self.secret_keys if key not in changes]
        if missing and not self.is_applied(table):
            raise ConfigError(
                f"the new values of {', '.join(missing)} must be given again: the change was interrupted "
                f"before they were in the table's config, and secrets are not stored anywhere else",
                where=table.name_with_type,
                remedy="run it again with the same --set-from-file (or --unset)",
            )

    def applied(self, table: TableConfig, changes: Values) -> TableConfig:
        """Return a table's config with the new stream, and with the old secrets stored beside it.

        Args:
            table: The config without the new stream.
            changes: The requested changes; needed for the secret keys.

        Raises:
            ConfigError: The value of a secret key is not given.
            ConflictError: A key that changes no longer has its old value.
        """
        self.check_secrets(table, changes)
        self._require(table, self.old)
        present = StreamConfig.of(table)
        new = present.changed({**self.new, **{key: changes[key] for key in self.secret_keys}})
        kept = {key: present.values.get(key) for key in self.secret_keys}
        return _with_kept(with_stream(table, new), {self.change_id: kept} if kept else None)

    def is_undone(self, table: TableConfig) -> bool:
        """Return whether a table's config has the old stream (still or again)."""
        return self._has(table, self.old) and self._kept(table) is None

    def undone(self, table: TableConfig) -> TableConfig:
        """Return a table's config with the old stream.

        Raises:
            ConflictError: A changed key no longer has its new value, or the old secrets are gone.
        """
        self._require(table, self.new)
        kept = self._kept(table)
        if self.secret_keys and kept is None:
            raise ConflictError(
                f"somebody else removed the old values of {', '.join(self.secret_keys)} from the config of "
                f"{table.name_with_type}",
                expected=f"{KEPT_SECRETS} in metadata.customConfigs",
                where=table.name_with_type,
                remedy="restore the old stream config with 'pinotctl table update'; the table stays paused",
            )
        old = StreamConfig.of(table).changed({**self.old, **(kept or {})})
        return self.finished(with_stream(table, old))

    def is_finished(self, table: TableConfig) -> bool:
        """Return whether a table's config contains no old secrets of this change."""
        return self._kept(table) is None

    @staticmethod
    def finished(table: TableConfig) -> TableConfig:
        """Return a table's config without old secrets."""
        return _with_kept(table, None)

    def is_repeated(self, changes: Values, table: TableConfig) -> bool:
        """Return whether a caller requests this change again, or a part of it.

        Secrets are compared only if they have been applied; until then, any value is accepted.
        """
        wanted = {**StreamConfig.of(table).values, **self.new}
        unknown = () if self.is_applied(table) else self.secret_keys
        return all(wanted.get(key) == value for key, value in changes.items() if key not in unknown)

    def _has(self, table: TableConfig, values: Values) -> bool:
        present = StreamConfig.of(table).values
        return all(present.get(key) == value for key, value in values.items())

    def _require(self, table: TableConfig, values: Values) -> None:
        if not self._has(table, values):
            raise ConflictError(
                f"somebody else changed the stream config of {table.name_with_type} meanwhile",
                expected=f"{', '.join(values)} as this change found or set them",
                where=table.name_with_type,
                remedy="see 'pinotctl table show --output json'; the table stays paused",
            )

    def _kept(self, table: TableConfig) -> dict[str, str | None] | None:
        try:
            kept = json.loads(_custom_configs(table.to_json()).get(KEPT_SECRETS, "{}"))
        except ValueError:
            return None
        found: dict[str, str | None] | None = kept.get(self.change_id) if isinstance(kept, dict) else None
        return found


def _with_kept(table: TableConfig, kept: Mapping[str, Values] | None) -> TableConfig:
    document = copy.deepcopy(table.to_json())
    custom = _custom_configs(document)
    if kept is None and KEPT_SECRETS not in custom:
        return table
    custom.pop(KEPT_SECRETS, None)
    if kept is not None:
        custom[KEPT_SECRETS] = json.dumps(kept)
    document["metadata"] = {**(document.get("metadata") or {}), "customConfigs": custom}
    return TableConfig.from_json(document)


def _custom_configs(document: Mapping[str, Any]) -> dict[str, str]:
    return dict((document.get("metadata") or {}).get("customConfigs") or {})
