"""A server that sends something other than the segment, next to one with a good copy: the good copy is used.

The servers are real HTTP listeners, called like the servers' admin APIs.
"""

from __future__ import annotations

import struct
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.judge import Replica
from controller_client.deepstore.listing import open_deep_store
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.repair import Repaired, Repairer, RepairOutcome
from controller_client.deepstore.servers import ServerAdmins
from controller_client.errors import NotFoundError
from controller_client.segment_tar import Proof, TarLimits, content_crc
from controller_client.zookeeper import ZNRecord, segment_path
from tests.unit.controller_client.deepstore.samples import (
    TABLE,
    crc_of,
    endless,
    index_map,
    segment_files,
    write_files,
    write_tar,
)
from tests.unit.controller_client.deepstore.world import World
from tests.unit.controller_client.scripted_server import ScriptedServer, Step, answer, truncate
from tests.unit.controller_client.segment_tar.corpus import expected_of
from tests.unit.fake_clock import FakeClock

# Larger than what a tar may be here.
_MOST = 1 << 20
CRC = crc_of(7)
LABEL = struct.pack(">qq", CRC, 1)


def good() -> dict[str, bytes]:
    return {**segment_files(7), "v3/creation.meta": LABEL}


class Peers(ServerAdmins):
    """Servers at given addresses."""

    def __init__(self, world: World) -> None:
        super().__init__(world.client, RateLimit(1e9, FakeClock()))
        self.addresses: dict[str, str] = {}

    def address(self, server: str) -> str:
        return self.addresses[server]


class Scene:
    """A segment without a copy in the store, and servers that send what a test defines."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.world = World(folder)
        self.world.add()
        stack.callback(self.world.client.close)
        self.peers = stack.enter_context(Peers(self.world))
        self._folder = folder
        self._stack = stack

    def serve(self, name: str, step: Step) -> None:
        server = self._stack.enter_context(ScriptedServer())
        server.answers = lambda _seen: step
        self.peers.addresses[name] = server.url

    def serve_tar(self, name: str, files: dict[str, bytes], *, top: str = "s") -> None:
        write_files(self._folder / "tar", files, top=top)
        self.serve(name, answer(200, (self._folder / "tar").read_bytes()))

    def repair(self, *, accept_agreeing: bool = False) -> Repaired:
        fetcher = SegmentFetcher(
            self.world.client,
            self.peers,
            limits=TarLimits(max_tar_bytes=_MOST),
            accept_agreeing=accept_agreeing,
        )
        repairer = Repairer(self.world.properties, self.world.layout, fetcher, self.world.work)
        replicas = [Replica(name, "ONLINE", CRC) for name in self.peers.addresses]
        return repairer.repair(self.world.judged(*replicas))

    @property
    def stored_crc(self) -> int:
        return content_crc(self.world.stored(), TarLimits())


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        scene = Scene(tmp_path, stack)
        yield scene
        assert not list(scene.world.work.iterdir()), "files of repairs are left behind"


def _changed(path: str, change: Callable[[bytes], bytes]) -> dict[str, bytes]:
    return {**good(), path: change(good()[path])}


def _flipped(data: bytes) -> bytes:
    return data[:40] + bytes([data[40] ^ 1]) + data[41:]


def _raw(files: dict[str, bytes]) -> Callable[[Path], bytes]:
    def make(folder: Path) -> bytes:
        write_files(folder / "raw", files)
        return (folder / "raw").read_bytes()

    return make


# What is not a segment at all is told apart in tests/unit/controller_client/segment_tar.
PACKED: dict[str, Callable[[Path], bytes]] = {
    "path out of the folder": _raw({**good(), "../../x": b"x"}),
    "creation.meta alone": _raw({"v3/creation.meta": LABEL}),
    "another segment under this label": _raw({**segment_files(8), "v3/creation.meta": LABEL}),
    "another segment": _raw({**segment_files(8), "v3/creation.meta": struct.pack(">qq", crc_of(8), 1)}),
    "another label": _raw({**good(), "v3/creation.meta": struct.pack(">qq", 5, 1)}),
    "flipped bit of the rows": _raw(_changed("v3/columns.psf", _flipped)),
    "flipped bit of the properties": _raw(_changed("v3/metadata.properties", _flipped)),
    "tail cut": lambda folder: _raw(good())(folder)[:-20],
    "empty": lambda _: b"",
    "no tar": lambda _: b"<html>not here</html>",
    "larger than it may be": lambda _: bytes(_MOST + 1),
}

STEPS: dict[str, Step] = {
    "endless": endless,
    "breaks off": truncate,
    "does not have it": answer(404, {"error": "no"}),
    "fails": answer(500, "boom"),
    "sends elsewhere": answer(302, "", {"Location": "http://127.0.0.9:1/x"}),
}


@pytest.mark.parametrize("kind", [*PACKED, *STEPS])
def test_the_good_replica_is_used(scene: Scene, tmp_path: Path, kind: str) -> None:
    scene.serve("a", STEPS[kind] if kind in STEPS else answer(200, PACKED[kind](tmp_path)))
    done = scene.repair()
    assert done.outcome is RepairOutcome.NO_SOURCE
    assert done.message is not None
    assert "a: " in done.message
    assert not scene.world.stored().exists()
    assert scene.world.record().version == 0

    scene.serve_tar("b", good())
    done = scene.repair()
    assert (done.outcome, done.source, done.proof) == (RepairOutcome.REPAIRED, "b", Proof.CONTENT)
    assert [each.place for each in done.refused] == ["a"]
    assert scene.stored_crc == CRC
    assert {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("x")} == set()


def test_an_unverified_tar_in_the_store_is_replaced(scene: Scene, tmp_path: Path) -> None:
    scene.serve_tar("b", good())
    for kind in ("flipped bit of the rows", "tail cut", "creation.meta alone"):
        scene.world.stored().parent.mkdir(exist_ok=True)
        scene.world.stored().write_bytes(PACKED[kind](tmp_path))
        done = scene.repair()
        assert (done.outcome, done.source) == (RepairOutcome.REPAIRED, "b")
        assert scene.stored_crc == CRC
    assert scene.repair().outcome is RepairOutcome.GOOD


def test_what_a_server_added_is_not_uploaded(scene: Scene) -> None:
    files = good()
    index = bytes.fromhex("deadbeefdeafbead") + b"an index"
    size = len(files["v3/columns.psf"])
    more = f"a.inverted_index.startOffset = {size}\na.inverted_index.size = {len(index)}\n"
    changed = {
        **files,
        "v3/columns.psf": files["v3/columns.psf"] + index,
        "v3/index_map": files["v3/index_map"] + more.encode(),
        "pinotPlugins.upsert": bytes(32),
    }
    scene.serve_tar("a", changed, top="other")
    done = scene.repair()
    assert (done.outcome, done.source, done.proof) == (RepairOutcome.REPAIRED, "a", Proof.CONTENT)
    assert scene.stored_crc == CRC
    with tarfile.open(scene.world.stored()) as tar:
        assert {name for name in tar.getnames() if "upsert" in name or not name.startswith("s")} == set()
    assert scene.world.record().size_bytes == scene.world.stored().stat().st_size


def _upserted(version: int, row: int = 0) -> dict[str, bytes]:
    """A segment whose version column a server has written to; ``row`` changes another column."""
    marker = bytes.fromhex("deadbeefdeafbead")
    entries = {
        "$validUntil.forward_index": marker + struct.pack(">q", version),
        "a.forward_index": marker + struct.pack(">q", row),
    }
    return {
        "v3/columns.psf": b"".join(entries.values()),
        "v3/index_map": index_map({name: len(data) for name, data in entries.items()}),
        "v3/metadata.properties": b"segment.name = s\n",
        "v3/creation.meta": LABEL,
        "pinotPlugins.upsert": bytes([version]) * 32,
    }


def test_servers_that_agree_are_accepted_only_on_request(scene: Scene) -> None:
    scene.serve_tar("a", _upserted(1))
    scene.serve_tar("b", _upserted(2, row=5))
    assert scene.repair(accept_agreeing=True).outcome is RepairOutcome.NO_SOURCE
    scene.serve_tar("c", _upserted(3))
    refused = scene.repair()
    assert refused.outcome is RepairOutcome.NO_SOURCE
    assert refused.message is not None
    assert "the record has" in refused.message
    done = scene.repair(accept_agreeing=True)
    assert (done.outcome, done.source, done.proof) == (RepairOutcome.REPAIRED, "a", Proof.SERVERS)
    assert [each.place for each in done.refused] == ["b"]
    with tarfile.open(scene.world.stored()) as tar:
        assert "s/v3/columns.psf" in tar.getnames()
        assert "s/pinotPlugins.upsert" not in tar.getnames()


@pytest.mark.parametrize("first", ["a", "b"])
def test_the_second_server_may_have_its_own_label(scene: Scene, first: str) -> None:
    """Each server that builds a segment itself has written different versions into it by then."""
    own = {**_upserted(2), "v3/creation.meta": struct.pack(">qq", 5, 1)}
    for name in "ab":
        scene.serve_tar(name, _upserted(1) if name == first else own)
    done = scene.repair(accept_agreeing=True)
    assert (done.outcome, done.source, done.proof) == (RepairOutcome.REPAIRED, first, Proof.SERVERS)


def test_servers_that_agree_on_another_segment_are_not_accepted(scene: Scene) -> None:
    for name in "ab":
        scene.serve_tar(name, {**_upserted(1), "v3/creation.meta": struct.pack(">qq", 5, 1)})
    assert scene.repair(accept_agreeing=True).outcome is RepairOutcome.NO_SOURCE


def test_a_copy_with_only_its_data_verified_is_the_last_choice(scene: Scene, tmp_path: Path) -> None:
    """As in Pinot 1.5: the record has a data crc, and a reload has removed a committed index."""
    pinot = Path(__file__).parents[1] / "segment_tar" / "pinot_1_5"
    changed, whole = (pinot / f"{name}.tar.gz" for name in ("committed_index_removed", "indexes_added"))
    expected = expected_of(changed)
    fields = {
        "segment.crc": str(expected.crc),
        "segment.data.crc": str(expected.data_crc),
        "segment.realtime.status": "DONE",
    }
    scene.world.properties.create(segment_path(TABLE, "seg"), ZNRecord("seg", simple_fields=fields))
    scene.serve("a", answer(200, changed.read_bytes()))
    fetcher = SegmentFetcher(scene.world.client, scene.peers)
    replicas = [Replica("a", "ONLINE", expected.crc)]
    record = scene.world.record("seg")
    found = fetcher.fetch(record, replicas, tmp_path / "x.tar.gz")
    assert (found.place, found.proof) == ("a", Proof.DATA)
    assert "the rest is not verified" in str(found)
    scene.serve("b", answer(200, whole.read_bytes()))
    found = fetcher.fetch(record, [*replicas, Replica("b", "ONLINE")], tmp_path / "x.tar.gz")
    assert (found.place, found.proof) == ("b", Proof.CONTENT)
    assert "without later additions: a.inverted_index, m.inverted_index" in str(found)


def test_a_stored_tar_above_the_limit_is_not_fetched(tmp_path: Path) -> None:
    world = World(tmp_path)
    size = write_tar(world.stored(), content=7)
    world.add(url=world.layout.object_uri(TABLE, "s"))
    fetcher = SegmentFetcher(
        world.client, world.servers, open_store=open_deep_store, limits=TarLimits(size - 1)
    )
    with pytest.raises(NotFoundError, match=r"but at most [\d,]+ are allowed"):
        fetcher.fetch(world.record(), [], tmp_path / "x")
    world.client.close()
