"""What is deleted in a staging folder that two clusters share, and of what the previous release staged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.zookeeper.cluster_id import cluster_id
from minion_tasks.file_ingestion.engine.choose import Engines
from minion_tasks.file_ingestion.run.cleaning import Cleaning
from minion_tasks.file_ingestion.run.types import RunTools
from minion_tasks.file_ingestion.session.model import SessionState, abandon
from tests.unit.fake_clock import FakeClock
from tests.unit.minion_tasks.samples import TABLE, make_params, make_session, make_store


class Cluster:
    """A cluster with a table, and the cleaning of its runs."""

    def __init__(self, folder: Path, client: ControllerClient) -> None:
        self.sessions, self.store = make_store()
        params = make_params(inputDirURI=f"file://{folder}/in", outputDirURI=f"file://{folder}/out")
        tools = RunTools(client, self.store, Engines({}), FakeClock())
        self.cleaning = Cleaning(tools, TABLE, params, self.sessions)
        self.cleaning.purge = lambda: None  # type: ignore[method-assign]  # it would call the controller

    def stage(self, session_id: str, uri: str | None = None, state: SessionState = SessionState.DONE) -> Path:
        """Stage a segment, as a session in a state that has recorded this."""
        uri = uri or self.cleaning.staging.session_uri(session_id)
        made = make_session(session_id=session_id, staging_uri=uri, state=state)
        self.sessions.create(made)
        return segment_in(uri)


def segment_in(uri: str) -> Path:
    path = Path(uri.removeprefix("file://"), "segment")
    path.parent.mkdir(parents=True)
    path.touch()
    return path


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """Two clusters with the same ``outputDirURI``, each with a table of the same name."""
    with ExitStack() as opened:
        client = opened.enter_context(ControllerClient(ControllerConfig("http://127.0.0.1:9")))
        yield Cluster(tmp_path, client), Cluster(tmp_path, client)


def test_a_cluster_deletes_nothing_that_another_one_stages(clusters: tuple[Cluster, Cluster]) -> None:
    one, other = clusters
    running = other.stage("s1", state=SessionState.IN_PROGRESS)
    left = one.stage("s2")
    one.cleaning.sweep()
    assert not left.exists()
    one.cleaning.delete_staging("s1")
    one.cleaning.delete_staging("s1", other.cleaning.staging.session_uri("s1"))
    one.cleaning.clear_all()
    assert running.exists()
    other.cleaning.clear_all()
    assert not running.exists()


def test_a_cluster_keeps_its_folder(clusters: tuple[Cluster, Cluster]) -> None:
    one, other = clusters
    assert one.cleaning.staging.cluster_id == cluster_id(one.store) != other.cleaning.staging.cluster_id
    assert one.cleaning.staging.root == other.cleaning.staging.root


@pytest.mark.parametrize("end", ["after", "discard", "clear", "sweep"])
def test_a_session_of_the_previous_release_is_finished_and_cleaned(
    clusters: tuple[Cluster, Cluster], end: str
) -> None:
    one, _ = clusters
    root = one.cleaning.staging.root
    staged = one.stage("s1", f"{root}/{TABLE}/s1", SessionState.IN_PROGRESS)
    # The same folder may have what the previous release stages for another cluster.
    foreign = segment_in(f"{root}/{TABLE}/s2")
    one.cleaning.sweep()
    assert staged.exists(), "the session is open"
    session = one.sessions.load("s1")
    if end == "after":
        one.cleaning.after(session)
    elif end == "discard":
        one.cleaning.discard(session, "given up")
    elif end == "clear":
        one.cleaning.clear_all()
    else:
        one.sessions.save(abandon(session, "given up", 0))
        one.cleaning.sweep()
    assert not staged.exists()
    assert foreign.exists()
