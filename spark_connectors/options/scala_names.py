"""Options of Pinot's Scala connector that are not supported here, and their alternatives.

All other options of the Scala connector are accepted under their own names.
"""

from __future__ import annotations

__all__ = ["instead_of"]

_TRUST = "set 'tlsCaFile' to the certificates of the authorities (PEM)"
_KEYS = "set 'tlsClientCertFile' and 'tlsClientKeyFile' to the certificate and its key (PEM)"
_FORMAT = "remove it: dates and timestamps become TIMESTAMP; for another format, create the table yourself"
_PROXY = "remove it: controller, brokers and servers must be reachable directly"
_INSTEAD = {
    "authheader": "remove it: the token is sent in the header Authorization",
    "grpc.max-inbound-message-size": "remove it: there is no limit",
    "grpc.port": "remove it: the port of each server is read from ZooKeeper",
    "grpc.proxy-uri": _PROXY,
    "grpc.tls.keystore-password": _KEYS,
    "grpc.tls.keystore-path": _KEYS,
    "grpc.tls.keystore-type": _KEYS,
    "grpc.tls.ssl-provider": "remove it",
    "grpc.tls.truststore-password": _TRUST,
    "grpc.tls.truststore-path": _TRUST,
    "grpc.tls.truststore-type": _TRUST,
    "keystorepassword": _KEYS,
    "keystorepath": _KEYS,
    "proxy.enabled": _PROXY,
    "segmentnameformat": "remove it: segment names show the write and the attempt that they belong to",
    "timeformat": _FORMAT,
    "timegranularity": _FORMAT,
    "truststorepassword": _TRUST,
    "truststorepath": _TRUST,
}


def instead_of(name: str) -> str | None:
    """Describe the alternative to an option; None if the Scala connector has no such option."""
    return _INSTEAD.get(name.lower())
