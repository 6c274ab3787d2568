"""References in files whose values Airflow masks in the logs of the task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from controller_client.as_code import References

__all__ = ["MaskedReferences"]


class MaskedReferences(References):
    """References whose values are registered as secrets when they are resolved.

    Args:
        env: As of :class:`References`.
        folder: As of :class:`References`.
        mask: Registers a secret, e.g. ``airflow.sdk.log.mask_secret``; called in the thread that resolves.
    """

    def __init__(self, env: Mapping[str, str], folder: Path, mask: Callable[[str], object]) -> None:
        super().__init__(env, folder)
        self._mask = mask

    def hold(self, value: str, written: str) -> str:
        """Register a value; see :meth:`References.hold`."""
        self._mask(value)
        return super().hold(value, written)
