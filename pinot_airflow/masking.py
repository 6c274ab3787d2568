"""References in files whose values Airflow masks in the logs of the task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controller_client.as_code import References

__all__ = ["MaskedReferences"]


@dataclass(frozen=True, repr=False)
class MaskedReferences(References):
    """References whose values are registered as secrets when they are resolved.

    Attributes:
        mask: Registers a secret, e.g. ``airflow.sdk.log.mask_secret``.
    """

    mask: Callable[[str], object]

    def variable(self, name: str) -> str:
        """Return the value of a variable; see :meth:`References.variable`."""
        value = super().variable(name)
        self.mask(value)
        return value

    def file(self, path: str) -> str:
        """Return the content of a file; see :meth:`References.file`."""
        value = super().file(path)
        self.mask(value)
        return value
