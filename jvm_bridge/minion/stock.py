"""Reads the configuration of a stock minion, for a hosted minion that replaces it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from controller_client.errors import ConfigError
from jvm_bridge.minion.host import MinionSettings

__all__ = ["StockMinion", "read_stock_minion"]

_ZOOKEEPER, _CLUSTER = "pinot.zk.server", "pinot.cluster.name"
_DATA_DIR = "dataDir"
_CONCURRENCY = "pinot.minion.max.concurrent.tasks.per.instance"
_NAMES = ("pinot.minion.instance.id", "instanceId")


@dataclass(frozen=True)
class StockMinion:
    """A stock minion.

    Attributes:
        host: Host that it advertises.
        port: Port of its admin API.
        processors: Number of processors for Java: those of the container, or ``ActiveProcessorCount``.
        properties: All properties in its file, with the cluster's name and ZooKeeper's address.
    """

    host: str
    port: int
    processors: int
    properties: Mapping[str, object] = field(repr=False)

    def __post_init__(self) -> None:
        for key in _NAMES:
            if self.properties.get(key) is not None:
                raise ConfigError(
                    f"{key} is {self.properties[key]}, but hosted minions do not support other names",
                    expected="a name from host and port, set by pinot.minion.host and pinot.minion.port",
                    remedy=f"remove {key} from the configuration file",
                )

    @property
    def zookeeper_address(self) -> str:
        """``host:port,...[/chroot]``."""
        return str(self.properties[_ZOOKEEPER])

    @property
    def cluster_name(self) -> str:
        """Helix name of the cluster."""
        return str(self.properties[_CLUSTER])

    def concurrency(self) -> int:
        """Return the number of subtasks that it runs at once: from its file, else one per processor.

        Raises:
            ConfigError: The value in the file is not a number.
        """
        setting = str(self.properties.get(_CONCURRENCY, -1))
        try:
            number = int(setting)
        except ValueError:
            raise ConfigError(f"{_CONCURRENCY} is {setting!r}", expected="a number") from None
        # Pinot's own default, -1, is no limit at all.
        return number if number > 0 else self.processors

    def applied_to(self, settings: MinionSettings, concurrency: int | None) -> MinionSettings:
        """Return the settings of a hosted minion that replaces it.

        Args:
            settings: Settings that are not in the file; the folder is used if the file does not set one.
            concurrency: Number of subtasks to run at once; overrides the file.

        Raises:
            ConfigError: A value in the file is not a number.
        """
        folder = self.properties.get(_DATA_DIR)
        return replace(
            settings,
            host=self.host,
            port=self.port,
            folder=settings.folder if folder is None else Path(str(folder)),
            concurrency=self.concurrency() if concurrency is None else concurrency,
            properties=self.properties,
        )


def read_stock_minion(arguments: Sequence[str]) -> StockMinion:
    """Parse the arguments of ``pinot-admin.sh StartMinion`` and read its file; the JVM must be running.

    Raises:
        ConfigError: Pinot rejects an argument, or cannot read the file.
    """
    import jpype

    from jvm_bridge.role_host import MINION
    from jvm_bridge.role_host.configuration import read_configuration

    properties = read_configuration(MINION, arguments)
    java_properties = jpype.JClass("java.util.HashMap")()
    for key, value in properties.items():
        java_properties.put(key, value)
    conf = jpype.JClass("org.apache.pinot.minion.MinionConf")(java_properties)
    return StockMinion(
        host=str(conf.getHostName()),
        port=int(conf.getPort()),
        processors=int(jpype.JClass("java.lang.Runtime").getRuntime().availableProcessors()),
        properties=properties,
    )
