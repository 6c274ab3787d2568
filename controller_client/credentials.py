"""Credentials and TLS settings, which show no secret, and never go into a URL."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from controller_client.errors import ConfigError

__all__ = ["Auth", "BasicAuth", "BearerToken", "Secret", "Tls"]


class Secret:
    """A string that is never shown by accident: ``repr`` and ``str`` mask it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the string itself."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __str__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


@dataclass(frozen=True)
class BasicAuth:
    """User name and password, as Pinot's BasicAuthAccessControlFactory expects them."""

    username: str
    password: Secret

    def header(self) -> str:
        """Return the value of the header ``Authorization``, which is secret."""
        pair = f"{self.username}:{self.password.reveal()}"
        # Bytes of the environment that are not UTF-8 are sent as they are.
        return "Basic " + base64.b64encode(pair.encode("utf-8", "surrogateescape")).decode()

    def secrets(self) -> tuple[str, ...]:
        """Return what must not be shown, in any encoding."""
        password = self.password.reveal()
        return (password, f"{self.username}:{password}") if password else ()


@dataclass(frozen=True)
class BearerToken:
    """A token, sent as ``Authorization: Bearer``.

    Raises:
        ConfigError: It contains a character that a header cannot carry, e.g. a line break.
    """

    token: Secret

    def __post_init__(self) -> None:
        if not all("!" <= character <= "~" for character in self.token.reveal()):
            raise ConfigError(
                "the token contains a character that a header cannot carry: a space, a line break or a "
                "non-ASCII character",
                expected="the bearer token as issued, without the prefix 'Bearer'",
            )

    def header(self) -> str:
        """Return the value of the header ``Authorization``, which is secret."""
        return f"Bearer {self.token.reveal()}"

    def secrets(self) -> tuple[str, ...]:
        """Return what must not be shown, in any encoding."""
        return (self.token.reveal(),)


Auth = BasicAuth | BearerToken
"""What a client can show a controller or broker to prove who it is."""


@dataclass(frozen=True)
class Tls:
    """TLS settings, used only for ``https`` addresses.

    Attributes:
        ca_file: Certificate authorities to trust (PEM); default: the system's.
        client_cert_file: Client certificate (PEM).
        client_key_file: Its key (PEM); default: read from the certificate's file.
        verify: Whether to check the server's certificate.
    """

    ca_file: str | None = None
    client_cert_file: str | None = None
    client_key_file: str | None = None
    verify: bool = True

    def check(self) -> None:
        """Read the files as a connection would.

        Raises:
            ConfigError: A file is missing or has the wrong content.
        """
        if self.verify and self.ca_file:
            with _tls_file(self.ca_file, "certificates of authorities"):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                if Path(self.ca_file).is_dir():
                    context.load_verify_locations(capath=self.ca_file)
                else:
                    context.load_verify_locations(cafile=self.ca_file)
        if self.client_cert_file:
            with _tls_file(self.client_cert_file, "a client certificate with its key"):
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
                # Without the function, OpenSSL would prompt on the terminal for the password of an encrypted
                # key.
                context.load_cert_chain(self.client_cert_file, self.client_key_file, password=lambda: b"")


@contextmanager
def _tls_file(path: str, content: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or "it cannot be read"
        raise ConfigError(
            f"TLS cannot use the file {path}: {reason}",
            expected=f"{content}, in PEM",
            where=str(Path(path).absolute()),
        ) from error
