"""The Kafka node of the session."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.support.java_options import QUICK_START
from tests.support.processes import host_command
from tests.support.service import HOME, Program, RunningService, Service, listens, wait_ready
from tests.support.slot import Port, Slot

ADDRESS = "127.0.0.51"
_TOOL_TIMEOUT_S = 300
_READY_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Kafka:
    """How to reach Kafka.

    Attributes:
        bootstrap: ``host:port``.
        tools_folder: Folder for the files that Kafka's tools read.
        node: The only node.
    """

    bootstrap: str
    tools_folder: Path
    node: RunningService

    def kill(self) -> None:
        """Kill it with SIGKILL; its disk is kept."""
        self.node.kill()

    def start(self) -> None:
        """Restart it, and wait until it listens."""
        self.node.start()
        wait_ready(self.node, _READY_TIMEOUT_S)

    def produce(self, topic: str, messages: Iterable[str]) -> None:
        """Write messages with Kafka's console producer; the first one creates the topic, with one partition.

        Raises:
            RuntimeError: The producer failed; contains its output.
        """
        self._tool(
            "kafka.tools.ConsoleProducer",
            "--bootstrap-server",
            self.bootstrap,
            "--topic",
            topic,
            "--producer-property",
            "acks=all",
            text="".join(f"{message}\n" for message in messages),
        )

    def _tool(self, name: str, *arguments: str, text: str = "") -> str:
        command, environment = host_command(Program.KAFKA, self.tools_folder)
        environment["JAVA_OPTS"] = f"-Xmx96m {QUICK_START} -DpinotPlugins.log.level=warn"
        done = subprocess.run(
            [*command, "run", name, *arguments],
            env=environment,
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=_TOOL_TIMEOUT_S,
        )
        # The console producer exits with 0 even if it could not deliver: its output shows the failure.
        if done.returncode != 0 or "ERROR" in done.stderr:
            raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr.strip()[-800:]}")
        return done.stdout


def kafka_bootstrap(slot: Slot) -> str:
    """Return the bootstrap address for clients."""
    return f"{ADDRESS}:{slot.port(Port.KAFKA)}"


def kafka_service(slot: Slot) -> Service:
    """Return the node to start: broker and controller in one."""
    return kafka_node("kafka", 1, kafka_bootstrap(slot), f"{ADDRESS}:{slot.port(Port.KAFKA_CONTROLLER)}")


def kafka_node(name: str, node: int, address: str, controller: str) -> Service:
    """Return one node of a cluster; the first one is also its controller.

    Args:
        name: Name of the service.
        node: Its number, from 1.
        address: ``host:port`` for clients.
        controller: Address of the cluster's controller.
    """
    host, _, port = address.rpartition(":")
    listeners = f"PLAINTEXT://{address}"
    properties = {
        "process.roles": "broker,controller" if node == 1 else "broker",
        "node.id": str(node),
        "controller.quorum.voters": f"1@{controller}",
        "listeners": f"{listeners},CONTROLLER://{controller}" if node == 1 else listeners,
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": f"{HOME}/data",
        "num.partitions": "1",
        "offsets.topic.num.partitions": "1",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    return Service(
        name=name,
        program=Program.KAFKA,
        arguments=("start", f"{HOME}/kafka.properties"),
        is_ready=lambda: listens(host, int(port)),
        environment={"JAVA_OPTS": f"-Xmx256m {QUICK_START} -DpinotPlugins.log.level=warn"},
        files={"kafka.properties": "".join(f"{name}={value}\n" for name, value in properties.items())},
    )
