"""Users of a cluster that keeps them in ZooKeeper, with what each may do.

Pinot's answers hold the users' password hashes. Nothing that this module returns does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller_client.common.redaction import Redactor
from controller_client.config import Secret
from controller_client.errors import ConflictError, NotFoundError, PinotPluginError
from controller_client.rest.transport import Transport, path_of

__all__ = ["Component", "Permission", "User", "UserRole", "UsersApi"]


class Component(StrEnum):
    """Where a user may log in; each has users of its own."""

    CONTROLLER = "CONTROLLER"
    BROKER = "BROKER"
    SERVER = "SERVER"


class UserRole(StrEnum):
    """An administrator may do everything, whatever tables and permissions say."""

    ADMIN = "ADMIN"
    USER = "USER"


class Permission(StrEnum):
    """What a user may do with tables."""

    CREATE = "CREATE"
    READ = "READ"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(frozen=True)
class User:
    """A user, without the password.

    Attributes:
        name: Name to log in with.
        component: Where.
        role: Administrator or not.
        tables: The tables that the user is for; empty: all.
        exclude_tables: Tables that the user is not for (newer versions of Pinot).
        permissions: What the user may do; empty: everything.
    """

    name: str
    component: Component
    role: UserRole
    tables: tuple[str, ...] = ()
    exclude_tables: tuple[str, ...] = ()
    permissions: tuple[Permission, ...] = ()

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> User:
        """Read a user out of Pinot's answer; the password's hash is left out."""
        return cls(
            name=str(document["username"]),
            component=Component(document["component"]),
            role=UserRole(document["role"]),
            tables=tuple(document.get("tables") or ()),
            exclude_tables=tuple(document.get("excludeTables") or ()),
            permissions=tuple(Permission(each) for each in document.get("permissions") or ()),
        )

    def to_json(self, password: Secret) -> dict[str, Any]:
        """Write the user as Pinot reads it."""
        document: dict[str, Any] = {
            "username": self.name,
            "password": password.reveal(),
            "component": self.component.value,
            "role": self.role.value,
        }
        lists: Mapping[str, Sequence[str]] = {
            "tables": self.tables,
            "excludeTables": self.exclude_tables,
            "permissions": self.permissions,
        }
        return {**document, **{key: [str(each) for each in value] for key, value in lists.items() if value}}


class UsersApi:
    """Resource group ``/users``.

    A cluster looks at them only where ``ZkBasicAuthAccessControlFactory`` is its access control.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self) -> list[User]:
        """Return all users, by name and component."""
        found = [User.from_json(each) for each in self._documents().values()]
        return sorted(found, key=lambda user: (user.name, user.component))

    def get(self, name: str, component: Component) -> User:
        """Return a user.

        Raises:
            NotFoundError: There is no such user of this component.
        """
        return User.from_json(self._document(name, component))

    def create(self, user: User, password: Secret) -> None:
        """Add a user.

        Raises:
            ConflictError: There is one of this name and component.
            RejectedError: Pinot finds something wrong, e.g. a blank or a dot in the name.
            OutcomeUnknownError: The reply was lost.
        """
        # 0.11.0 looks for the name among all users in a way of its own; the answer is the same for both.
        if f"{user.name}_{user.component}" in self._documents():
            raise ConflictError(
                f"there is a user {user.name} of the component {user.component} already",
                where=self._transport.base_url,
                remedy="change it by 'pinotctl user update'",
            )
        self._send("POST", "/users", user, password)

    def update(self, user: User, password: Secret | None = None) -> None:
        """Replace what a user may do, and the password.

        Args:
            user: As it is to be.
            password: The new one; None: it stays.

        Raises:
            NotFoundError: There is no such user of this component.
            RejectedError: Pinot finds something wrong.
            OutcomeUnknownError: The reply was lost.
        """
        # The hash goes back where it came from.
        kept = Secret(str(self._document(user.name, user.component).get("password") or ""))
        params = {
            "component": user.component.value,
            "passwordChanged": "false" if password is None else "true",
        }
        self._send("PUT", path_of("users", user.name), user, password or kept, params)

    def delete(self, name: str, component: Component) -> None:
        """Delete a user.

        Raises:
            NotFoundError: There is no such user of this component.
            OutcomeUnknownError: The reply was lost.
        """
        self._document(name, component)
        self._transport.request("DELETE", path_of("users", name), params={"component": component.value})

    def _send(
        self,
        method: str,
        path: str,
        user: User,
        password: Secret,
        params: Mapping[str, str | None] | None = None,
    ) -> None:
        try:
            self._transport.request(method, path, params=params, json=user.to_json(password))
        except PinotPluginError as error:
            # What Pinot cannot read it may repeat. No cause: that has the same text.
            error.message = Redactor([password.reveal()])(error.message)
            error.args = (error.message,)
            raise error from None

    def _documents(self) -> Mapping[str, Mapping[str, Any]]:
        answer = self._transport.get_json("/users") or {}
        users: Mapping[str, Mapping[str, Any]] = answer.get("users") or {}
        return users

    def _document(self, name: str, component: Component) -> Mapping[str, Any]:
        found = self._documents().get(f"{name}_{component}")
        if found is None:
            raise NotFoundError(
                f"there is no user {name} of the component {component}",
                where=self._transport.base_url,
                remedy="see 'pinotctl user list'",
            )
        return found
