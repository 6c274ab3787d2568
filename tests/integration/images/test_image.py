"""The image of docker/Dockerfile, run with the arguments of Pinot's own Helm chart."""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import requests

from controller_client.client import ControllerClient
from controller_client.helix import TaskQueues
from controller_client.helix.unfinished_subtasks import Unfinished, unfinished_subtasks
from controller_client.zookeeper import PropertyStore
from tests.integration.images import sleeping_task
from tests.integration.images.agent import JAR, SAYS, agent_jar
from tests.integration.images.containers import FOLDER, RoleContainer
from tests.integration.jvm_bridge.servers import free_ports
from tests.support.cluster import PinotCluster
from tests.support.missing_tool import without
from tests.support.session import chosen_backend
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

HOST = "127.0.0.51"
NOBODY = f"{HOST}:1"
SESSION = "-Dzk.session.timeout=6000"
TERMINATED = 143
# Half of the time after which Kubernetes would kill it.
ENDS_WITHIN_S = 60.0
SIGTERM_BIT = 1 << (signal.SIGTERM - 1)

Start = Callable[..., RoleContainer]


@pytest.fixture
def start() -> Iterator[Start]:
    """Return a function that creates containers and removes them at the end of the test."""
    backend, reason = chosen_backend()
    if backend != "containers":
        without(reason)
    made: list[RoleContainer] = []

    def begin(make: Callable[..., RoleContainer], *args: object, **kwargs: object) -> RoleContainer:
        container = make(*args, **kwargs)
        made.append(container)
        return container

    yield begin
    for container in made:
        container.remove()


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return agent_jar(tmp_path_factory.mktemp("agent"))


@pytest.fixture
def client(pinot: PinotCluster) -> Iterator[ControllerClient]:
    with pinot.client() as made:
        yield made


@pytest.fixture
def store(pinot: PinotCluster) -> Iterator[PropertyStore]:
    with PropertyStore(pinot.zookeeper_address, pinot.cluster_name) as made:
        yield made


def status_of(container: RoleContainer) -> dict[str, str]:
    """Return the kernel's status of the first process."""
    lines = container.run("print(open('/proc/1/status').read())").splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def assert_has_no_privileges(container: RoleContainer) -> None:
    status = status_of(container)
    assert (set(status["Uid"].split()), set(status["Gid"].split())) == ({"1000"}, {"1000"})
    assert int(status["CapEff"], 16) == 0


def test_all_other_commands_are_pinots(start: Start) -> None:
    # One of Pinot's commands that needs no cluster.
    container = start(RoleContainer, ("StartController", "-help"), {"JAVA_OPTS": "-Xmx64m"})
    wait_for(lambda: "-controllerPort" in container.logs(), "the help of Pinot's own command")


def test_a_command_of_this_project(pinot: PinotCluster, start: Start) -> None:
    (port,) = free_ports(1)
    container = start(
        RoleContainer,
        ("pinotctl", "queue", "waiting", "--tag", "nobody", "--metrics-port", str(port)),
        {"PINOT_ZOOKEEPER": pinot.zookeeper_address, "PINOT_CLUSTER_NAME": pinot.cluster_name},
    )
    container.wait_healthy(f"http://127.0.0.1:{port}/health")
    metrics = requests.get(f"http://127.0.0.1:{port}/metrics", timeout=10).text
    assert 'pinot_plugins_queue_subtasks{state="waiting",tag="nobody"} 0.0' in metrics
    found = container.run("import shutil; print([shutil.which(name) for name in ('cc', 'gcc', 'c++', 'uv')])")
    assert found.strip() == "[None, None, None, None]"
    assert container.stop() == 0


@dataclass(frozen=True)
class Minion:
    container: RoleContainer
    instance: str
    tag: str

    @property
    def log(self) -> str:
        return self.container.logs()


@pytest.fixture
def minion(pinot: PinotCluster, start: Start, agent: bytes) -> Callable[..., Minion]:
    """Return a function that starts a minion as the chart does, without the controller's address."""

    def begin(tag: str, drain_s: int) -> Minion:
        (port,) = free_ports(1)
        container = start(
            RoleContainer.of_role,
            pinot,
            "StartMinion",
            {
                "pinot.minion.host": HOST,
                "pinot.minion.port": port,
                "dataDir": "/var/pinot/minion/data",
                "pinot.minion.max.concurrent.tasks.per.instance": 1,
            },
            java_opts=f"{SESSION} -javaagent:{FOLDER}/{JAR}=minion",
            environment={
                "PINOT_MINION_TAG": tag,
                "PINOT_MINION_DRAIN_S": str(drain_s),
                "PYTHONPATH": f"{FOLDER}/{sleeping_task.FOLDER}",
            },
            files={JAR: agent, **sleeping_task.files()},
        )
        container.wait_healthy(f"http://{HOST}:{port}/health")
        return Minion(container, f"Minion_{HOST}_{port}", tag)

    return begin


@pytest.fixture
def tag() -> str:
    return f"t_{uuid.uuid4().hex[:8]}"


def submit(store: PropertyStore, tag: str, *seconds: float) -> str:
    configs = [{"seconds": str(each)} for each in seconds]
    return TaskQueues(store).submit(
        sleeping_task.TASK_TYPE, configs, minion_tag=tag, timeout_s=300, concurrent_per_instance=1
    )


def test_a_minion_drains(
    minion: Callable[..., Minion], client: ControllerClient, store: PropertyStore, tag: str
) -> None:
    first = minion(tag, drain_s=60)
    assert_has_no_privileges(first.container)
    assert f"{SAYS}minion" in first.log
    assert client.instances.get(first.instance).tags == (tag,)

    task = submit(store, tag, 15, 15)
    wait_for(lambda: unfinished_subtasks(store).get(tag) == Unfinished(1, 1), "one to run, and one to wait")
    assert first.container.stop() == 0
    assert "has slept" in first.log
    assert "was cancelled" not in first.log
    # It accepted no other subtask: the next one waits for a minion, and autoscaling sees it.
    assert first.log.count("sleeping for") == 1
    wait_for(lambda: unfinished_subtasks(store).get(tag) == Unfinished(waiting=1), "one to be left")

    second = minion(tag, drain_s=60)
    wait_for(lambda: client.tasks.state(task) == "COMPLETED", "the task to end on another minion")
    assert second.log.count("sleeping for") == 1
    wait_for(lambda: tag not in unfinished_subtasks(store), "no subtask to be left")


def test_a_subtask_that_outlasts_the_drain_is_run_by_another_minion(
    minion: Callable[..., Minion], client: ControllerClient, store: PropertyStore, tag: str
) -> None:
    minions = [minion(tag, drain_s=1), minion(tag, drain_s=1)]
    task = submit(store, tag, 15)
    wait_for(lambda: any("sleeping for" in each.log for each in minions), "one to run it")
    busy, other = sorted(minions, key=lambda each: "sleeping for" not in each.log)
    busy.container.stop()
    assert "was cancelled" in busy.log
    wait_for(lambda: client.tasks.state(task) == "COMPLETED", "the task to end on the other minion")
    assert "has slept" in other.log


def test_a_sigterm_while_a_minion_waits_for_its_cluster(pinot: PinotCluster, start: Start) -> None:
    """The kernel drops signals that a container's first process does not handle."""
    container = start(
        RoleContainer,
        ("StartMinion", "-clusterName", pinot.cluster_name, "-zkAddress", pinot.zookeeper_address),
        {"PINOT_CONTROLLER_URL": f"http://{NOBODY}"},
    )
    wait_for(lambda: SIGTERM_BIT & int(status_of(container)["SigCgt"], 16), "it to handle SIGTERM")
    began_s = time.monotonic()
    assert container.stop() == TERMINATED
    assert time.monotonic() - began_s < ENDS_WITHIN_S


def test_a_server(
    pinot: PinotCluster, client: ControllerClient, store: PropertyStore, start: Start, agent: bytes
) -> None:
    netty, admin, grpc, query_server, query_runner = free_ports(5)
    # Tables of other tests are not on servers with this tag.
    instance = client.instances.create("server", HOST, netty, tags=["image_OFFLINE"])
    container = start(
        RoleContainer.of_role,
        pinot,
        "StartServer",
        {
            "pinot.set.instance.id.to.hostname": "true",
            "pinot.server.netty.host": HOST,
            "pinot.server.netty.port": netty,
            "pinot.server.grpc.port": grpc,
            "pinot.query.server.port": query_server,
            "pinot.query.runner.hostname": HOST,
            "pinot.query.runner.port": query_runner,
            "pinot.server.adminapi.access.protocols": "http",
            "pinot.server.adminapi.access.protocols.http.host": HOST,
            "pinot.server.adminapi.access.protocols.http.port": admin,
            "pinot.server.instance.dataDir": "/var/pinot/server/data/index",
            "pinot.server.instance.segmentTarDir": "/var/pinot/server/data/segment",
            "pinot.server.shutdown.noQueryThresholdMs": 500,
        },
        java_opts=f"{SESSION} -javaagent:{FOLDER}/{JAR}=server",
        files={JAR: agent},
    )
    for path in ("/health/liveness", "/health/readiness"):
        container.wait_healthy(f"http://{HOST}:{admin}{path}")
    _check_role(container, client, store, instance, "server")


def test_a_broker(
    pinot: PinotCluster, client: ControllerClient, store: PropertyStore, start: Start, agent: bytes
) -> None:
    query, runner = free_ports(2)
    instance = client.instances.create("broker", HOST, query, tags=["image_BROKER"])
    container = start(
        RoleContainer.of_role,
        pinot,
        "StartBroker",
        {
            "pinot.broker.hostname": HOST,
            "pinot.broker.client.access.protocols": "http",
            "pinot.broker.client.access.protocols.http.host": HOST,
            "pinot.broker.client.access.protocols.http.port": query,
            "pinot.query.runner.hostname": HOST,
            "pinot.query.runner.port": runner,
        },
        java_opts=f"{SESSION} -javaagent:{FOLDER}/{JAR}=broker",
        files={JAR: agent},
    )
    container.wait_healthy(f"http://{HOST}:{query}/health")
    assert requests.get(f"http://{HOST}:{query}/health", timeout=5).text == "OK"
    _check_role(container, client, store, instance, "broker")


def _check_role(
    container: RoleContainer, client: ControllerClient, store: PropertyStore, instance: str, role: str
) -> None:
    assert_has_no_privileges(container)
    assert f"{SAYS}{role}" in container.logs()
    wait_for(lambda: instance in client.instances.live(), f"{instance} to be live")
    assert container.stop() == TERMINATED
    # It left the cluster on its own: its ZooKeeper session did not have to expire.
    assert instance not in store.live_instances()
    wait_for(lambda: instance not in client.instances.live(), "the controller to see that it left")
    client.instances.drop(instance)
