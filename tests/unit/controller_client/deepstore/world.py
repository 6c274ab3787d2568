"""A property store in memory, a deep store in a folder, and servers that are folders of tars.

For what happens when a repair is disturbed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from controller_client.client import ControllerClient
from controller_client.config import ControllerConfig
from controller_client.deepstore.fetching import SegmentFetcher
from controller_client.deepstore.judge import Judgement, Replica, judge
from controller_client.deepstore.rate import RateLimit
from controller_client.deepstore.repair import Repairer
from controller_client.deepstore.segment_record import SegmentRecord, read_record
from controller_client.deepstore.servers import ServerAdmins
from controller_client.errors import NotFoundError
from controller_client.filestore.local import LocalStore
from controller_client.zookeeper import segment_path
from tests.unit.controller_client.deepstore.samples import TABLE, folder_layout, write_tar, znode
from tests.unit.fake_clock import FakeClock
from tests.unit.memory_zookeeper import memory_store


class Killed(BaseException):
    """The process is killed: nothing catches this."""


class FolderServers(ServerAdmins):
    """Servers whose tars are in folders named after them."""

    def __init__(self, client: ControllerClient, root: Path) -> None:
        super().__init__(client, RateLimit(1e9, FakeClock()))
        self.root = root
        self.downloads: list[str] = []

    def download(self, server: str, table: str, segment: str, path: Path, max_bytes: int) -> int:
        self.downloads.append(server)
        source = self.root / server / segment
        if not source.exists():
            raise NotFoundError(f"{server} does not have {segment}")
        assert source.stat().st_size <= max_bytes
        shutil.copyfile(source, path)
        return source.stat().st_size


class StepStore(LocalStore):
    """A folder that calls back around uploads."""

    def __init__(self) -> None:
        super().__init__()
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None
        self.uploads = 0

    def upload(self, path: Path, uri: str) -> None:
        self.before()
        super().upload(path, uri)
        self.uploads += 1
        self.after()


class World:
    """All parts together.

    Attributes:
        properties: Property store.
        zookeeper: Its znodes.
        files: The deep store.
    """

    def __init__(self, root: Path) -> None:
        self.properties, self.zookeeper = memory_store()
        self.files = StepStore()
        (root / "store").mkdir()
        self.layout = folder_layout(root / "store")
        self.client = ControllerClient(ControllerConfig("http://127.0.0.1:1"), clock=FakeClock())
        self.servers = FolderServers(self.client, root / "servers")
        self.work = root / "work"
        self.work.mkdir()
        self.repairer = self.new_repairer()

    def at(self, moment: str, act: Callable[[], object]) -> None:
        """Act once in the next repair: ``before upload``, ``after upload`` or ``before the url``."""

        def once(*_: object) -> None:
            self.files.before = self.files.after = lambda: None
            self.zookeeper.before_set = lambda _path: None
            act()

        if moment == "before upload":
            self.files.before = once
        elif moment == "after upload":
            self.files.after = once
        else:
            self.zookeeper.before_set = once

    def new_repairer(self, *, accept_agreeing: bool = False) -> Repairer:
        def opened(_uri: str) -> LocalStore:
            return self.files

        fetcher = SegmentFetcher(
            self.client, self.servers, open_store=opened, accept_agreeing=accept_agreeing
        )
        return Repairer(self.properties, self.layout, fetcher, self.work, open_store=opened)

    def add(self, name: str = "s", *, content: int = 7, url: str = "", size: int | None = None) -> None:
        self.properties.create(segment_path(TABLE, name), znode(name, content=content, url=url, size=size))

    def change(self, name: str, *, content: int, url: str = "", size: int | None = None) -> None:
        """Act as a push that refreshes the segment."""
        path = segment_path(TABLE, name)
        found = self.properties.get(path)
        assert found is not None
        before_set, self.zookeeper.before_set = self.zookeeper.before_set, lambda _path: None
        self.properties.set(path, znode(name, content=content, url=url, size=size), found.version)
        self.zookeeper.before_set = before_set

    def give(self, server: str, *, content: int = 7, name: str = "s") -> None:
        write_tar(self.servers.root / server / name, content=content, name=name)

    def judged(self, *replicas: Replica, name: str = "s") -> Judgement:
        return judge(self.record(name), replicas, None, 2)

    def record(self, name: str = "s") -> SegmentRecord:
        found = read_record(self.properties, TABLE, name)
        assert found is not None
        return found

    def stored(self, name: str = "s") -> Path:
        return Path(self.layout.object_uri(TABLE, name).removeprefix("file://"))
