"""Calls the hooks of a hosted role, and decides whether the role may start without a hook that failed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from controller_client.errors import PinotPluginError, SetupError
from jvm_bridge.role_host.hooks import (
    UNCAUGHT,
    HookErrors,
    HookFactory,
    HostedRoleView,
    KnowsDependents,
    NeedsStarter,
    RoleHook,
)

__all__ = ["HookRunner"]

logger = logging.getLogger(__name__)

_SHOWN = 5
"""How many dependents a message lists."""


class HookRunner:
    """Calls the hooks of one role and handles their errors; in the main thread, except :meth:`stopping`.

    Args:
        factories: The factories of the hooks, by name.
        errors: Counts their errors.
        needed: Whether the role must not start without a hook that fails, if the hook does not report what
            depends on it.

    Raises:
        SetupError: A needed hook cannot be created.
    """

    def __init__(
        self, factories: Mapping[str, HookFactory], errors: HookErrors, *, needed: bool = False
    ) -> None:
        self.errors = errors
        self.counted = (*factories, UNCAUGHT)
        """The names for counting errors: all hooks, also those that were not created, and their threads."""
        self._needed = needed
        self._hooks: dict[str, RoleHook[Any]] = {}
        self._failed: dict[str, tuple[str, BaseException]] = {}
        self.left_out: dict[str, str] = {}
        """Hooks that failed while nothing depended on them, with the reason."""
        for name, factory in factories.items():
            try:
                self._hooks[name] = factory()
            except (Exception, SystemExit) as error:  # noqa: BLE001  # a hook may raise anything, also below
                self._failed_unknown(name, "while it was created", error)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the hooks that did not fail before the start."""
        return tuple(name for name in self._hooks if name not in self._failed)

    def starters(self) -> dict[str, str]:
        """Return the starter classes that hooks need, by hook.

        Raises:
            SetupError: A needed hook failed.
        """
        starters: dict[str, str] = {}
        for name, hook in self._hooks.items():
            if not isinstance(hook, NeedsStarter):
                continue
            try:
                starter = hook.starter()
            except (Exception, SystemExit) as error:  # noqa: BLE001
                what = "while it chose a starter"
                self._failed[name] = (what, error)
                # If it can report its dependents, this is decided once there is a role.
                if not isinstance(hook, KnowsDependents):
                    self._failed_unknown(name, what, error)
                continue
            if starter:
                starters[name] = starter
        return starters

    def before_start(self, role: HostedRoleView) -> None:
        """Call all hooks; a hook that fails while nothing depends on it is not called again.

        Raises:
            SetupError: A hook on which something depends failed.
        """
        for name, hook in list(self._hooks.items()):
            if name not in self._failed:
                try:
                    hook.before_start(role)
                    continue
                except (Exception, SystemExit) as error:  # noqa: BLE001
                    self._failed[name] = ("before the start", error)
            elif not isinstance(hook, KnowsDependents):
                continue  # already reported
            what, reason = self._failed[name]
            if isinstance(hook, KnowsDependents):
                self._go_without(name, hook, role, what, reason)
            else:
                self._failed_unknown(name, what, reason)

    def started(self, role: HostedRoleView) -> None:
        """Call all hooks."""
        for name, hook in self._hooks.items():
            with self.errors.guard(name, "after the start"):
                hook.started(role)

    def stopping(self, role: HostedRoleView) -> None:
        """Call all hooks."""
        for name, hook in self._hooks.items():
            with self.errors.guard(name, "before the stop"):
                hook.stopping(role)

    def _failed_unknown(self, name: str, what: str, error: BaseException) -> None:
        """Handle the failure of a hook that does not report what depends on it."""
        if self._needed:
            raise SetupError(
                f"the hook {name} failed {what}: {error}",
                remedy="fix the reported problem; without the hook, answers for its tables would be wrong",
            ) from error
        with self.errors.guard(name, what):
            raise error

    def _go_without(
        self, name: str, hook: KnowsDependents, role: HostedRoleView, what: str, error: BaseException
    ) -> None:
        """Continue without a hook that failed, if nothing depends on it."""
        self.errors.add(name)
        del self._hooks[name]
        reason = error.message if isinstance(error, PinotPluginError) else str(error)
        where = _where(role, error)
        try:
            depend = hook.dependents(role)
        except PinotPluginError as asked:
            raise SetupError(
                f"the hook {name} failed {what}: {reason}; cannot find out what needs it: {asked.message}",
                where=where,
                remedy="fix the reported problem",
            ) from error
        if depend.found:
            raise SetupError(
                f"the hook {name} failed {what}: {reason}; but it is needed by {_listed(depend.found)}",
                expected=error.expected if isinstance(error, PinotPluginError) else None,
                where=where,
                remedy=f"fix the reported problem, or {depend.way_out}",
            ) from error
        self.left_out[name] = reason
        logger.warning(
            "hook %s failed %s: %s; the role starts without it, because nothing depends on it now. %s",
            name,
            what,
            reason,
            depend.later,
            exc_info=error,
        )


def _where(role: HostedRoleView, error: BaseException) -> str:
    location = error.where if isinstance(error, PinotPluginError) else None
    return f"{role.instance_id}, {location}" if location else role.instance_id


def _listed(found: tuple[str, ...]) -> str:
    more = len(found) - _SHOWN
    return ", ".join(found[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
