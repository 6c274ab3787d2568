"""A minion hosted in Python that gets its work from Helix and is seen by the stock controller."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.errors import NotFoundError
from controller_client.helix import TaskQueues
from controller_client.rest.capabilities import Capability
from controller_client.rest.instances import DRAINED
from controller_client.zookeeper import PropertyStore
from tests.support.cluster import PinotCluster
from tests.support.needs import needs
from tests.support.tiers import FULL
from tests.support.wait import wait_for

pytestmark = [pytest.mark.cluster, pytest.mark.jvm]

PROGRAMS = "tests.integration.jvm_bridge"


class Minion:
    """A hosted minion in a child process."""

    def __init__(self, pinot: PinotCluster, folder: Path, tag: str, port: int) -> None:
        self.pinot, self.tag, self.port = pinot, tag, port
        self.instance = f"Minion_127.0.0.1_{port}"
        self.log = folder / f"{port}.log"
        command = [sys.executable, "-m", f"{PROGRAMS}.minion_program", pinot.controller_url]
        command += [pinot.zookeeper_address, pinot.cluster_name, str(port), str(folder / str(port)), tag, "2"]
        self.classes = folder / f"{port}.classes"
        options = {"PINOT_PLUGINS_JAVA_OPTS": f"-Xlog:class+load:file={self.classes}"}
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, **options}
            )

    def wait_ready(self) -> None:
        def ready() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            return "Pinot minion started" in self.log.read_text() or self._health()

        wait_for(ready, f"{self.instance} to start", timeout_s=300)

    def _health(self) -> bool:
        try:
            return requests.get(f"http://127.0.0.1:{self.port}/health", timeout=2).ok
        except requests.ConnectionError:
            return False

    @contextmanager
    def queues(self) -> Iterator[TaskQueues]:
        with PropertyStore(self.pinot.zookeeper_address, self.pinot.cluster_name) as store:
            yield TaskQueues(store)

    def submit(
        self, task_type: str, *configs: dict[str, str], concurrent: int = 1, timeout_s: float = 300.0
    ) -> str:
        with self.queues() as queues:
            return queues.submit(
                task_type,
                configs,
                minion_tag=self.tag,
                timeout_s=timeout_s,
                concurrent_per_instance=concurrent,
            )

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=300)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def client(pinot: PinotCluster) -> Iterator[ControllerClient]:
    with ControllerClient(ControllerConfig(pinot.controller_url)) as made:
        yield made


@pytest.fixture(scope="module")
def minion(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minion]:
    started = Minion(pinot, tmp_path_factory.mktemp("minion"), f"t_{uuid.uuid4().hex[:8]}", free_port())
    try:
        started.wait_ready()
        yield started
    finally:
        started.end(signal.SIGKILL)


def wait_done(client: ControllerClient, name: str) -> None:
    wait_for(lambda: client.tasks.state(name) == "COMPLETED", f"{name} to end", timeout_s=300)


def test_it_has_exactly_its_own_tag(client: ControllerClient, minion: Minion) -> None:
    assert client.instances.get(minion.instance).tags == (minion.tag,)


def test_it_loads_the_segment_builder_before_work_arrives(minion: Minion) -> None:
    # None of its executors builds segments.
    wait_for(
        lambda: "creator.impl.SegmentIndexCreationDriverImpl " in minion.classes.read_text(),
        "the classes to be loaded",
        timeout_s=300,
    )


def test_a_job_runs_in_python_and_the_controller_shows_it(
    client: ControllerClient, minion: Minion, tmp_path: Path
) -> None:
    configs = [{"folder": str(tmp_path), "name": name, "text": "ä, b=c"} for name in ("one", "two", "three")]
    name = minion.submit("TestWrites", *configs)
    wait_done(client, name)
    for config in configs:
        task_type, instance, work_dir, *found = (tmp_path / config["name"]).read_text().splitlines()
        assert (task_type, instance, work_dir) == ("TestWrites", minion.instance, "True")
        assert found == [f"folder={tmp_path}", f"name={config['name']}", "text=ä, b=c"]
    assert "TestWrites" in client.tasks.types()
    assert client.tasks.states("TestWrites")[name] == "COMPLETED"
    assert set(client.tasks.subtask_states(name).values()) == {"COMPLETED"}


@pytest.mark.parametrize(
    ("task_type", "text"),
    [
        ("TestFails", "ValueError: row 7 of x is wrong: größer als 3"),
        ("TestRefuses", "RuntimeError: no executor today"),
    ],
)
def test_why_a_subtask_failed_is_in_helix_task_info(
    client: ControllerClient, minion: Minion, task_type: str, text: str
) -> None:
    name = minion.submit(task_type, {"name": "x"})
    wait_done(client, name)
    assert set(client.tasks.subtask_states(name).values()) == {"TASK_ABORTED"}
    (info,) = client.tasks.debug(name)["subtaskInfos"]
    assert text in info["info"]
    assert info["participant"] == minion.instance


def test_no_more_subtasks_at_once_than_its_concurrency(
    client: ControllerClient, minion: Minion, tmp_path: Path
) -> None:
    configs = [{"folder": str(tmp_path), "name": str(n)} for n in range(5)]
    name = minion.submit("TestWaits", *configs, concurrent=5)
    wait_for(lambda: len(list(tmp_path.glob("*.running"))) == 2, "two subtasks", timeout_s=300)
    (tmp_path / "go").touch()
    wait_done(client, name)
    assert len(list(tmp_path.glob("*.running"))) == 5
    assert {file.read_text() for file in tmp_path.glob("*.running")} == {"1", "2"}


def test_jobs_submitted_at_once_all_run(client: ControllerClient, minion: Minion, tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        names = list(
            pool.map(
                lambda n: minion.submit("TestWrites", {"folder": str(tmp_path), "name": str(n)}), range(8)
            )
        )
    for name in names:
        wait_done(client, name)
    assert sorted(path.name for path in tmp_path.iterdir()) == [str(n) for n in range(8)]


def test_a_deleted_job_is_cancelled_and_those_after_it_run(
    client: ControllerClient, minion: Minion, tmp_path: Path
) -> None:
    name = minion.submit("TestWaits", {"folder": str(tmp_path), "name": "a"})
    wait_for((tmp_path / "a.running").exists, "the subtask to run", timeout_s=300)
    after = [minion.submit("TestWaits", {"folder": str(tmp_path), "name": each}) for each in "bc"]
    with minion.queues() as queues:
        queues.delete(name)
        wait_for((tmp_path / "a.cancelled").exists, "the subtask to be cancelled", timeout_s=300)
        wait_for(lambda: name not in client.tasks.states("TestWaits"), f"{name} to go", timeout_s=300)
        with pytest.raises(NotFoundError, match=name):
            queues.delete(name)
    (tmp_path / "go").touch()
    for each in after:
        wait_done(client, each)
    assert name not in client.tasks.states("TestWaits")


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=FULL), signal.SIGKILL])
def test_when_it_ends_another_takes_its_work(
    pinot: PinotCluster, client: ControllerClient, tmp_path: Path, number: signal.Signals
) -> None:
    tag = f"t_{uuid.uuid4().hex[:8]}"
    one = Minion(pinot, tmp_path, tag, free_port())
    other: Minion | None = None
    try:
        one.wait_ready()
        name = one.submit("TestWaits", {"folder": str(tmp_path), "name": "a"})
        wait_for((tmp_path / "a.running").exists, "the subtask to run", timeout_s=300)
        other = Minion(pinot, tmp_path, tag, free_port())
        other.wait_ready()
        assert one.end(number) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
        assert (tmp_path / "a.cancelled").exists() == (number == signal.SIGTERM)
        (tmp_path / "go").touch()
        wait_done(client, name)
        (info,) = client.tasks.debug(name)["subtaskInfos"]
        assert (info["participant"], info["state"]) == (other.instance, "COMPLETED")
    finally:
        one.end(signal.SIGKILL)
        if other is not None:
            other.end(signal.SIGKILL)


@needs(Capability.DRAIN_MINIONS, raises=requests.HTTPError, match="state=DRAIN")
def test_a_drained_minion_stays_so_when_it_starts_again(
    pinot: PinotCluster, client: ControllerClient, tmp_path: Path
) -> None:
    tag, port = f"t_{uuid.uuid4().hex[:8]}", free_port()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one = Minion(pinot, tmp_path / "one", tag, port)
    other: Minion | None = None
    try:
        one.wait_ready()
        name = one.submit("TestWaits", {"folder": str(tmp_path), "name": "a"})
        wait_for((tmp_path / "a.running").exists, "the subtask to run", timeout_s=300)
        url = f"{pinot.controller_url}/instances/{one.instance}/state"
        requests.put(url, params={"state": "DRAIN"}, timeout=30).raise_for_status()
        assert client.instances.get(one.instance).tags == (DRAINED,)
        after = one.submit("TestWaits", {"folder": str(tmp_path), "name": "b"})
        (tmp_path / "go").touch()
        wait_done(client, name)
        assert one.end() == 0

        other = Minion(pinot, tmp_path / "two", tag, port)
        other.wait_ready()
        assert client.instances.get(one.instance).tags == (DRAINED,)
        assert "is drained and gets no subtasks" in other.log.read_text()
        assert not (tmp_path / "b.running").exists()
        requests.put(url, params={"state": "ENABLE"}, timeout=30).raise_for_status()
        wait_done(client, after)
        assert client.instances.get(one.instance).tags == (tag,)
    finally:
        one.end(signal.SIGKILL)
        if other is not None:
            other.end(signal.SIGKILL)


def test_a_missing_cluster(tmp_path: Path, pinot: PinotCluster) -> None:
    command = [sys.executable, "-m", f"{PROGRAMS}.minion_program", pinot.controller_url]
    command += [pinot.zookeeper_address, "NoSuchCluster", str(free_port()), str(tmp_path), "t", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    assert "NotFoundError: ZooKeeper has no Pinot cluster NoSuchCluster" in done.stderr
    assert pinot.cluster_name in done.stderr
