"""Options of Pinot's Scala connector that have no place here, with what to do instead.

All its other options are taken under their own names.
"""

from __future__ import annotations

__all__ = ["instead_of"]

_TRUST = "give the authorities' certificates by 'tlsCaFile' (PEM)"
_KEYS = "give certificate and key by 'tlsClientCertFile' and 'tlsClientKeyFile' (PEM)"
_FORMAT = "leave it out: dates and timestamps become TIMESTAMP; for another format make the table by hand"
_PROXY = "leave it out: controller, brokers and servers must be reachable"
_INSTEAD = {
    "authheader": "leave it out: the token goes into the header Authorization",
    "grpc.max-inbound-message-size": "leave it out: there is no bound",
    "grpc.port": "leave it out: the port of each server is read from ZooKeeper",
    "grpc.proxy-uri": _PROXY,
    "grpc.tls.keystore-password": _KEYS,
    "grpc.tls.keystore-path": _KEYS,
    "grpc.tls.keystore-type": _KEYS,
    "grpc.tls.ssl-provider": "leave it out",
    "grpc.tls.truststore-password": _TRUST,
    "grpc.tls.truststore-path": _TRUST,
    "grpc.tls.truststore-type": _TRUST,
    "keystorepassword": _KEYS,
    "keystorepath": _KEYS,
    "proxy.enabled": _PROXY,
    "segmentnameformat": "leave it out: segments' names show which write and which attempt they belong to",
    "timeformat": _FORMAT,
    "timegranularity": _FORMAT,
    "truststorepassword": _TRUST,
    "truststorepath": _TRUST,
}


def instead_of(name: str) -> str | None:
    """Describe what to do instead of an option; None when the Scala connector has none of this name."""
    return _INSTEAD.get(name.lower())
