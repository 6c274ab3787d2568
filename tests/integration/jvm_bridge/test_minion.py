"""A minion hosted in Python that gets its work from Helix and is seen by the stock controller."""

from __future__ import annotations

import os
import signal
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
from controller_client.errors import NotFoundError
from controller_client.helix import TaskQueues
from controller_client.rest.capabilities import Capability
from controller_client.rest.instances import DRAINED
from controller_client.zookeeper import PropertyStore
from tests.integration.jvm_bridge.servers import free_ports
from tests.support.cluster import PinotCluster
from tests.support.java_options import QUICK_START
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
        options = f"{QUICK_START} -Xlog:class+load:file={self.classes}"
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PINOT_PLUGINS_JAVA_OPTS": options},
            )

    def wait_ready(self) -> None:
        def ready() -> bool:
            assert self.process.poll() is None, self.log.read_text()[-4000:]
            return requests.get(f"http://127.0.0.1:{self.port}/health", timeout=2).ok

        wait_for(ready, f"{self.instance} to start")

    @contextmanager
    def queues(self) -> Iterator[TaskQueues]:
        with PropertyStore(self.pinot.zookeeper_address, self.pinot.cluster_name) as store:
            yield TaskQueues(store)

    def submit(self, task_type: str, *configs: dict[str, str], concurrent: int = 1) -> str:
        with self.queues() as queues:
            return queues.submit(
                task_type,
                configs,
                minion_tag=self.tag,
                timeout_s=300.0,
                concurrent_per_instance=concurrent,
            )

    def end(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=300)


class Minions:
    """Minions with a tag of their own, of which one runs most of the time."""

    def __init__(self, pinot: PinotCluster, folder: Path) -> None:
        self._pinot, self._folder = pinot, folder
        self._tag = f"t_{uuid.uuid4().hex[:8]}"
        self.started: list[Minion] = []

    def start(self, port: int | None = None) -> Minion:
        minion = Minion(self._pinot, self._folder, self._tag, port or free_ports(1)[0])
        self.started.append(minion)
        minion.wait_ready()
        return minion

    def one(self) -> Minion:
        """Return one that runs."""
        running = [minion for minion in self.started if minion.process.poll() is None]
        return running[0] if running else self.start()


@pytest.fixture(scope="module")
def client(pinot: PinotCluster) -> Iterator[ControllerClient]:
    with pinot.client() as made:
        yield made


@pytest.fixture(scope="module")
def minions(pinot: PinotCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Minions]:
    made = Minions(pinot, tmp_path_factory.mktemp("minions"))
    yield made
    for minion in made.started:
        minion.end(signal.SIGKILL)


@pytest.fixture
def minion(minions: Minions) -> Minion:
    return minions.one()


def wait_done(client: ControllerClient, name: str) -> None:
    wait_for(lambda: client.tasks.state(name) == "COMPLETED", f"{name} to end")


def test_it_has_exactly_its_own_tag(client: ControllerClient, minion: Minion) -> None:
    assert client.instances.get(minion.instance).tags == (minion.tag,)


def test_it_loads_the_segment_builder_before_work_arrives(minion: Minion) -> None:
    # None of its executors builds segments.
    wait_for(
        lambda: "creator.impl.SegmentIndexCreationDriverImpl " in minion.classes.read_text(),
        "the classes to be loaded",
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


def test_why_a_subtask_failed_is_in_helix_task_info(client: ControllerClient, minion: Minion) -> None:
    texts = {
        "TestFails": "ValueError: row 7 of x is wrong: größer als 3",
        "TestRefuses": "RuntimeError: no executor today",
    }
    names = {task_type: minion.submit(task_type, {"name": "x"}) for task_type in texts}
    for task_type, name in names.items():
        wait_done(client, name)
        assert set(client.tasks.subtask_states(name).values()) == {"TASK_ABORTED"}
        (info,) = client.tasks.debug(name)["subtaskInfos"]
        assert texts[task_type] in info["info"]
        assert info["participant"] == minion.instance


def test_no_more_subtasks_at_once_than_its_concurrency(
    client: ControllerClient, minion: Minion, tmp_path: Path
) -> None:
    configs = [{"folder": str(tmp_path), "name": str(n)} for n in range(5)]
    name = minion.submit("TestWaits", *configs, concurrent=5)
    wait_for(lambda: len(list(tmp_path.glob("*.running"))) == 2, "two subtasks")
    (tmp_path / "go").touch()
    wait_done(client, name)
    assert len(list(tmp_path.glob("*.running"))) == 5
    assert {file.read_text() for file in tmp_path.glob("*.running")} == {"1", "2"}


@FULL
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
    wait_for((tmp_path / "a.running").exists, "the subtask to run")
    after = [minion.submit("TestWaits", {"folder": str(tmp_path), "name": each}) for each in "bc"]
    with minion.queues() as queues:
        queues.delete(name)
        wait_for((tmp_path / "a.cancelled").exists, "the subtask to be cancelled")
        wait_for(lambda: name not in client.tasks.states("TestWaits"), f"{name} to go")
        with pytest.raises(NotFoundError, match=name):
            queues.delete(name)
    (tmp_path / "go").touch()
    for each in after:
        wait_done(client, each)
    assert name not in client.tasks.states("TestWaits")


@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=FULL), signal.SIGKILL])
def test_when_it_ends_another_takes_its_work(
    minions: Minions, client: ControllerClient, tmp_path: Path, number: signal.Signals
) -> None:
    one = minions.one()
    name = one.submit("TestWaits", {"folder": str(tmp_path), "name": "a"})
    wait_for((tmp_path / "a.running").exists, "the subtask to run")
    other = minions.start()
    assert one.end(number) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
    assert (tmp_path / "a.cancelled").exists() == (number == signal.SIGTERM)
    (tmp_path / "go").touch()
    wait_done(client, name)
    (info,) = client.tasks.debug(name)["subtaskInfos"]
    assert (info["participant"], info["state"]) == (other.instance, "COMPLETED")


@FULL
@needs(Capability.DRAIN_MINIONS, raises=requests.HTTPError, match="state=DRAIN")
def test_a_drained_minion_stays_so_when_it_starts_again(
    minions: Minions, pinot: PinotCluster, client: ControllerClient, tmp_path: Path
) -> None:
    one = minions.one()
    name = one.submit("TestWaits", {"folder": str(tmp_path), "name": "a"})
    wait_for((tmp_path / "a.running").exists, "the subtask to run")
    url = f"{pinot.controller_url}/instances/{one.instance}/state"
    try:
        requests.put(url, params={"state": "DRAIN"}, timeout=30).raise_for_status()
        assert client.instances.get(one.instance).tags == (DRAINED,)
        after = one.submit("TestWaits", {"folder": str(tmp_path), "name": "b"})
    finally:
        (tmp_path / "go").touch()
    wait_done(client, name)
    assert one.end() == 0

    again = minions.start(one.port)
    wait_for(lambda: "is drained and gets no subtasks" in again.log.read_text(), "its message")
    assert client.instances.get(one.instance).tags == (DRAINED,)
    assert not (tmp_path / "b.running").exists()
    requests.put(url, params={"state": "ENABLE"}, timeout=30).raise_for_status()
    wait_done(client, after)
    assert client.instances.get(one.instance).tags == (one.tag,)


@FULL
def test_a_missing_cluster(tmp_path: Path, pinot: PinotCluster) -> None:
    command = [sys.executable, "-m", f"{PROGRAMS}.minion_program", pinot.controller_url]
    command += [pinot.zookeeper_address, "NoSuchCluster", str(free_ports(1)[0]), str(tmp_path), "t", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode != 0
    assert "NotFoundError: ZooKeeper has no Pinot cluster NoSuchCluster" in done.stderr
    assert pinot.cluster_name in done.stderr
