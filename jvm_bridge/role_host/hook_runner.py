"""Calls the hooks of a hosted role, and decides whether it may start without one that cannot do its work."""

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

_NAMED = 5
"""So many dependents are named in a message."""


class HookRunner:
    """Calls the hooks of one role, each guarded; in the main thread, but for :meth:`stopping`.

    Args:
        factories: What makes them, by name.
        errors: Counts what they raise.
        needed: Whether one that cannot be made, or fails before the start, keeps the role from starting where
            it does not say what depends on it.

    Raises:
        SetupError: A hook that is needed cannot be made.
    """

    def __init__(
        self, factories: Mapping[str, HookFactory], errors: HookErrors, *, needed: bool = False
    ) -> None:
        self.errors = errors
        self.counted = (*factories, UNCAUGHT)
        """Under what is counted: all hooks, also those that could not be made, and their threads."""
        self._needed = needed
        self._hooks: dict[str, RoleHook[Any]] = {}
        self._failed: dict[str, tuple[str, BaseException]] = {}
        self.left_out: dict[str, str] = {}
        """Why, by the name of a hook that failed while nothing depended on it."""
        for name, factory in factories.items():
            try:
                self._hooks[name] = factory()
            except (Exception, SystemExit) as error:  # noqa: BLE001  # a border, as all in here
                self._failed_unknown(name, "when it was made", error)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the hooks that are there and did not fail before the start."""
        return tuple(name for name in self._hooks if name not in self._failed)

    def starters(self) -> dict[str, str]:
        """Classes of starters that hooks need, by hook.

        Raises:
            SetupError: A hook that is needed failed.
        """
        found: dict[str, str] = {}
        for name, hook in self._hooks.items():
            if not isinstance(hook, NeedsStarter):
                continue
            try:
                starter = hook.starter()
            except (Exception, SystemExit) as error:  # noqa: BLE001
                what = "when it was asked for a starter"
                self._failed[name] = (what, error)
                # One that knows is asked when there is a role to ask about.
                if not isinstance(hook, KnowsDependents):
                    self._failed_unknown(name, what, error)
                continue
            if starter:
                found[name] = starter
        return found

    def before_start(self, role: HostedRoleView) -> None:
        """Call all hooks; one that fails while nothing depends on it is called no more.

        Raises:
            SetupError: A hook failed that something depends on.
        """
        for name, hook in list(self._hooks.items()):
            if name not in self._failed:
                try:
                    hook.before_start(role)
                    continue
                except (Exception, SystemExit) as error:  # noqa: BLE001
                    self._failed[name] = ("before the start", error)
            elif not isinstance(hook, KnowsDependents):
                continue  # that was told already
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
        """A hook failed of which it is not known what depends on it."""
        if self._needed:
            raise SetupError(
                f"the hook {name} failed {what}: {error}",
                remedy="fix what it says; without the hook, answers about tables that need it are wrong",
            ) from error
        with self.errors.guard(name, what):
            raise error

    def _go_without(
        self, name: str, hook: KnowsDependents, role: HostedRoleView, what: str, error: BaseException
    ) -> None:
        """Leave a hook out that failed, if nothing depends on it."""
        self.errors.add(name)
        del self._hooks[name]
        reason = error.message if isinstance(error, PinotPluginError) else str(error)
        where = _where(role, error)
        try:
            depend = hook.dependents(role)
        except PinotPluginError as asked:
            raise SetupError(
                f"the hook {name} failed {what}: {reason}; what needs it is not known: {asked.message}",
                where=where,
                remedy="fix what it says",
            ) from error
        if depend.found:
            raise SetupError(
                f"the hook {name} failed {what}: {reason}; but it is needed by {_listed(depend.found)}",
                expected=error.expected if isinstance(error, PinotPluginError) else None,
                where=where,
                remedy=f"fix what it says, or {depend.way_out}",
            ) from error
        self.left_out[name] = reason
        logger.warning(
            "hook %s failed %s: %s; the role starts without it, since nothing depends on it now. %s",
            name,
            what,
            reason,
            depend.later,
            exc_info=error,
        )


def _where(role: HostedRoleView, error: BaseException) -> str:
    place = error.where if isinstance(error, PinotPluginError) else None
    return f"{role.instance_id}, {place}" if place else role.instance_id


def _listed(found: tuple[str, ...]) -> str:
    more = len(found) - _NAMED
    return ", ".join(found[:_NAMED]) + (f" and {more} more" if more > 0 else "")
