"""Stock and hosted brokers that a test adds to the session's cluster, started the same way."""

from __future__ import annotations

from dataclasses import dataclass

from controller_client.publishing.routing import NEW_SEGMENTS
from tests.integration.jvm_bridge.servers import HOST, ServerProcess
from tests.support.service import Program

_START = {Program.PINOT: ("StartBroker",), Program.PINOTCTL: ("serve", "broker")}


@dataclass
class BrokerProcess(ServerProcess):
    """A broker; its second port is for queries and health, the third for the multi-stage engine."""

    @property
    def instance(self) -> str:
        """Its name in Helix."""
        return f"Broker_{HOST}_{self.ports[1]}"

    def register(self) -> None:
        """Set its tenant before it joins; otherwise tables of other tests would be served by it too."""
        with self.pinot.client() as client:
            client.instances.create("broker", HOST, self.ports[1], tags=[f"{self.tenant}_BROKER"])

    @property
    def start_words(self) -> tuple[str, ...]:
        """The arguments of the program that start it."""
        return _START[self.program]

    def by_file(self) -> list[str]:
        """Write a configuration file and return the arguments that start it with this file."""
        listener = "pinot.broker.client.access.protocols"
        return self.write_configuration(
            {
                "pinot.broker.hostname": HOST,
                listener: "http",
                f"{listener}.http.host": HOST,
                f"{listener}.http.port": str(self.ports[1]),
                "pinot.query.runner.hostname": HOST,
                "pinot.query.runner.port": str(self.ports[2]),
                "pinot.broker.delayShutdownTimeMs": "500",
                NEW_SEGMENTS: "0",
            }
        )

    def takes_queries(self) -> bool:
        """Return whether it may be asked: brokers, unlike servers, set no flag."""
        return True
