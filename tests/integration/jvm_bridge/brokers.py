"""Brokers of a test's own beside the session's cluster: stock ones and hosted ones, started alike."""

from __future__ import annotations

from dataclasses import dataclass

from tests.integration.jvm_bridge.servers import HOST, ServerProcess
from tests.support.service import Program
from tests.support.wait import wait_for

_START = {Program.PINOT: ("StartBroker",), Program.PINOTCTL: ("serve", "broker")}


@dataclass
class BrokerProcess(ServerProcess):
    """A broker; of its ports the second is that of queries and health, the third the multi-stage engine's."""

    @property
    def instance(self) -> str:
        """Its name in Helix."""
        return f"Broker_{HOST}_{self.ports[1]}"

    @property
    def start_words(self) -> tuple[str, ...]:
        """What starts one, after the program."""
        return _START[self.program]

    def by_file(self) -> list[str]:
        """The arguments that start it by a configuration file, which is written."""
        listener = "pinot.broker.client.access.protocols"
        properties = {
            "pinot.cluster.name": self.pinot.cluster_name,
            "pinot.zk.server": self.pinot.zookeeper_address,
            "pinot.broker.hostname": HOST,
            listener: "http",
            f"{listener}.http.host": HOST,
            f"{listener}.http.port": str(self.ports[1]),
            "pinot.query.runner.hostname": HOST,
            "pinot.query.runner.port": str(self.ports[2]),
            "pinot.broker.delayShutdownTimeMs": "500",
            **self.properties,
        }
        file = self.folder / "broker.conf"
        file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        return ["-configFileName", str(file)]

    def wait_ready(self) -> None:
        """Wait until it is healthy."""

        def ready() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, self.log[-4000:]
            return self.health() == "OK"

        wait_for(ready, f"{self.instance} to be ready", 120.0)
