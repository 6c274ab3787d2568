"""Reads a role's configuration with Pinot's own command, from the same arguments as the stock role."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jpype

from controller_client.errors import ConfigError
from jvm_bridge.java_errors import JAVA_ERRORS, message_of, root_causes
from jvm_bridge.role_host.kinds import StockCommand

__all__ = ["read_configuration"]

_ZOOKEEPER = "pinot.zk.server"
_CLUSTER = "pinot.cluster.name"
_SERVICE_ROLE = "pinot.service.role"


def read_configuration(kind: StockCommand, arguments: Sequence[str]) -> dict[str, Any]:
    """Return the role's properties, as Java objects by key; the JVM must be running.

    As in ``PinotServiceManager``, ZooKeeper's address and the cluster name are taken from the arguments if
    the configuration file does not set them, and the role is added.

    Args:
        kind: The role.
        arguments: Those of ``pinot-admin.sh StartServer``, e.g. ``-configFileName server.conf``.

    Raises:
        ConfigError: Pinot rejects an argument, or cannot read the configuration file.
    """
    command = jpype.JClass(kind.command)()
    words = jpype.JArray(jpype.JClass("java.lang.String"))(list(arguments))
    try:
        jpype.JClass("picocli.CommandLine")(command).parseArgs(words)
    except JAVA_ERRORS as error:
        raise ConfigError(
            f"Pinot rejects the arguments of the {kind.name}: {message_of(error)}",
            expected=f"those of pinot-admin.sh {command.getName()}, e.g. -configFileName {kind.name}.conf",
        ) from error
    file = command.getConfigFileName()
    if file is not None and not Path(str(file)).is_file():
        raise ConfigError(f"the configuration file of the {kind.name} does not exist", where=str(file))
    # The method is protected: StartServiceManager is its only caller in Pinot.
    method = command.getClass().getDeclaredMethod(kind.configuration_method)
    method.setAccessible(True)
    try:
        properties = method.invoke(command)
    except JAVA_ERRORS as error:
        raise ConfigError(
            f"the configuration of the {kind.name} cannot be read: {root_causes(error)}",
            where=" ".join(arguments),
            remedy="correct the file",
        ) from error
    configuration = {str(entry.getKey()): entry.getValue() for entry in properties.entrySet()}
    configuration.setdefault(_CLUSTER, command.getClusterName())
    configuration.setdefault(_ZOOKEEPER, command.getZkAddress())
    configuration[_SERVICE_ROLE] = kind.service_role
    return configuration
