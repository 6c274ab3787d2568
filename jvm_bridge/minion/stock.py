"""What a stock minion is started with, its configuration file above all, for a hosted one in its place."""

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
        processors: How many processors Java counts: those of the container, or of ``ActiveProcessorCount``.
        properties: All that its file has, with the cluster's name and ZooKeeper's address.
    """

    host: str
    port: int
    processors: int
    properties: Mapping[str, object] = field(repr=False)

    def __post_init__(self) -> None:
        for key in _NAMES:
            if self.properties.get(key) is not None:
                raise ConfigError(
                    f"{key} names the minion {self.properties[key]}, which a hosted minion cannot be called",
                    expected="a name of host and port, by pinot.minion.host and pinot.minion.port",
                    remedy=f"leave {key} out of the configuration file",
                )

    @property
    def zookeeper_address(self) -> str:
        """``host:port,...[/chroot]``."""
        return str(self.properties[_ZOOKEEPER])

    @property
    def cluster_name(self) -> str:
        """Helix' name of the cluster."""
        return str(self.properties[_CLUSTER])

    def concurrency(self) -> int:
        """How many subtasks it runs at once: what its file has, else one a processor.

        Raises:
            ConfigError: The file has no number.
        """
        found = str(self.properties.get(_CONCURRENCY, -1))
        try:
            number = int(found)
        except ValueError:
            raise ConfigError(f"{_CONCURRENCY} is {found!r}", expected="a number") from None
        # Pinot's own default, -1, is no limit at all.
        return number if number > 0 else self.processors

    def applied_to(self, settings: MinionSettings, concurrency: int | None) -> MinionSettings:
        """Return the settings of a hosted minion in its place.

        Args:
            settings: Of what no file has; the folder is that of a minion whose file names none.
            concurrency: How many subtasks it is to run at once, whatever the file has.

        Raises:
            ConfigError: The file has no number where one belongs.
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
    """Read the arguments of ``pinot-admin.sh StartMinion`` and the file that they name; the JVM must run.

    Raises:
        ConfigError: Pinot does not understand an argument, or cannot read the file.
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
