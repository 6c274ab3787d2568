"""TLS connections to ZooKeeper that trust only the operator's authorities."""

from __future__ import annotations

import socket
import ssl

from kazoo.handlers.threading import SequentialThreadingHandler

__all__ = ["OwnAuthorities"]


class OwnAuthorities(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """Kazoo's handler, which by itself trusts the system's authorities in addition to the given ones."""

    def create_connection(
        self,
        address: tuple[str, int],
        *,
        ca: str,
        hostname: str | None = None,
        timeout: float | None = None,
        certfile: str | None = None,
        keyfile: str | None = None,
        verify_certs: bool = True,
        check_hostname: bool = True,
        **_others: object,
    ) -> ssl.SSLSocket:
        """Connect; the arguments are kazoo's.

        Raises:
            OSError: The server cannot be reached, or its certificate is not trusted.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = check_hostname
        context.verify_mode = ssl.CERT_REQUIRED if verify_certs else ssl.CERT_NONE
        context.load_verify_locations(ca)
        if certfile:
            context.load_cert_chain(certfile, keyfile)
        plain = socket.create_connection(address, timeout)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return context.wrap_socket(plain, server_hostname=hostname)
        except BaseException:
            plain.close()
            raise
