"""Users of a cluster that stores them in ZooKeeper, and their permissions.

Pinot's responses contain the users' password hashes. Nothing returned by this module does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from controller_client.common.redaction import Redactor
from controller_client.config import Secret
from controller_client.errors import ConflictError, NotFoundError, PinotPluginError
from controller_client.rest.paths import path_of
from controller_client.rest.transport import Transport

__all__ = ["Component", "Permission", "User", "UserRole", "UsersApi"]


class Component(StrEnum):
    """Where a user may log in; each component has its own users."""

    CONTROLLER = "CONTROLLER"
    BROKER = "BROKER"
    SERVER = "SERVER"


class UserRole(StrEnum):
    """A user's role; an administrator may do everything, regardless of tables and permissions."""

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
        component: Where the user may log in.
        role: Administrator or not.
        tables: The tables that the user may access; empty: all.
        exclude_tables: Tables that the user may not access (newer versions of Pinot).
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
        """Parse a user from Pinot's response, without the password hash."""
        return cls(
            name=str(document["username"]),
            component=Component(document["component"]),
            role=UserRole(document["role"]),
            tables=tuple(document.get("tables") or ()),
            exclude_tables=tuple(document.get("excludeTables") or ()),
            permissions=tuple(Permission(each) for each in document.get("permissions") or ()),
        )

    def to_json(self, password: Secret) -> dict[str, Any]:
        """Return the user in Pinot's form."""
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

    A cluster uses them only if ``ZkBasicAuthAccessControlFactory`` is its access control.
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
            ConflictError: A user with this name and component exists.
            RejectedError: Pinot rejects the user, e.g. a space or a dot in the name.
            OutcomeUnknownError: The reply was lost.
        """
        # 0.11.0 has its own way to find a name among all users; the result is the same.
        if f"{user.name}_{user.component}" in self._documents():
            raise ConflictError(
                f"the user {user.name} of the component {user.component} already exists",
                where=self._transport.base_url,
                remedy="change it with 'pinotctl user update'",
            )
        self._send("POST", "/users", user, password)

    def update(self, user: User, password: Secret | None = None) -> None:
        """Replace a user's permissions and, optionally, the password.

        Args:
            user: The new state.
            password: The new password; None: unchanged.

        Raises:
            NotFoundError: There is no such user of this component.
            RejectedError: Pinot rejects the change.
            OutcomeUnknownError: The reply was lost.
        """
        # The hash is sent back unchanged.
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
            # Pinot may quote what it cannot read. No cause: it has the same text.
            error.message = Redactor([password.reveal()])(error.message)
            error.args = (error.message,)
            raise error from None

    def _documents(self) -> Mapping[str, Mapping[str, Any]]:
        return self._transport.get_json("/users", dict, key="users")

    def _document(self, name: str, component: Component) -> Mapping[str, Any]:
        document = self._documents().get(f"{name}_{component}")
        if document is None:
            raise NotFoundError(
                f"there is no user {name} of the component {component}",
                where=self._transport.base_url,
                remedy="see 'pinotctl user list'",
            )
        return document
