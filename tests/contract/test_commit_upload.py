"""Pinot's own uploader passes a commit's upload to ours, for any configured store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.commit_upload_program import WAIT_S
from tests.support.needs import Need, inside
from tests.support.program import Program
from tests.support.tiers import FULL
from tests.unit.controller_client.deepstore.samples import write_tar

pytestmark = pytest.mark.jvm

_PINOT_WAITS_MS = 300_000
_MUCH_LONGER_S = 60.0


class Uploader:
    """The child process, and a segment of its own for a test.

    Attributes:
        tar: The tar that a commit builds.
        home: The segment's location in the store.
    """

    def __init__(self, program: Program, folder: Path, name: str) -> None:
        self._program = program
        self.name = name
        self.tar = folder / "index" / f"{name}_REALTIME" / f"{name}__0__0__20261123T1200Z.tar.gz"
        self.home = folder / "store" / name / self.segment
        self.tar.parent.mkdir(parents=True)
        self.home.parent.mkdir(parents=True)
        write_tar(self.tar, name=self.segment)
        self._counts_before = self._counts()

    @property
    def segment(self) -> str:
        """The segment's name."""
        return self.tar.name.removesuffix(".tar.gz")

    def ask(self, do: str, **words: Any) -> dict[str, Any]:
        """Have the child execute a command."""
        return self._program.ask({"do": do, **words})

    def upload(self, tar: Path, timeout_ms: int = _PINOT_WAITS_MS) -> dict[str, Any]:
        """Upload a tar as that segment."""
        return self.ask("upload", tar=str(tar), segment=self.segment, timeout_ms=timeout_ms)

    def counts(self) -> dict[str, int]:
        """The outcomes of this test's uploads."""
        counts = {name: count - self._counts_before[name] for name, count in self._counts().items()}
        return {name: count for name, count in counts.items() if count}

    def _counts(self) -> dict[str, int]:
        return self.ask("count")


@pytest.fixture(scope="module", params=["held", pytest.param("file", marks=FULL)])
def uploader_of(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], Uploader]]:
    folder = tmp_path_factory.mktemp("uploads")
    program = Program(
        "tests.contract.commit_upload_program", str(folder), request.param, log=folder / "child.log"
    )
    try:
        assert program.answer() is not None, program.said()
        yield lambda name: Uploader(program, folder, name)
    finally:
        program.kill()


def test_a_commit_uploads_through_ours_and_a_retry_copies(uploader_of: Callable[[str], Uploader]) -> None:
    uploader = uploader_of("retried")
    first, second = uploader.upload(uploader.tar)["uri"], uploader.upload(uploader.tar)["uri"]
    assert first != second
    for uri in (first, second):
        uploaded = Path(uri.partition("://")[2])
        assert uploaded.name.startswith(uploader.segment)
        assert uploaded.parent == uploader.home.parent
        assert uploaded.read_bytes() == uploader.tar.read_bytes()
    assert uploader.counts() == {"ok": 2}


@pytest.mark.parametrize("uploader_of", ["held"], indirect=True)
def test_a_store_that_hangs_holds_a_commit_up_for_its_wait_alone_and_the_upload_ends_late(
    uploader_of: Callable[[str], Uploader],
) -> None:
    uploader = uploader_of("late")
    uploader.ask("hold")
    hanging = uploader.upload(uploader.tar)
    assert hanging["uri"] is None
    assert WAIT_S <= hanging["seconds"] < _MUCH_LONGER_S
    content = uploader.tar.read_bytes()
    uploader.tar.unlink()  # as Pinot does at the end of a commit
    assert list(uploader.home.parent.iterdir()) == []
    uploader.ask("release")
    late = uploader.ask("late")
    assert late["moved"]
    assert Path(late["home"].partition("://")[2]) == uploader.home
    assert [each.name for each in uploader.home.parent.iterdir()] == [uploader.segment]
    assert uploader.home.read_bytes() == content
    assert uploader.counts() == {"timed_out": 1, "late": 1}


@inside(Need.UPLOAD_FILE_SYSTEM)
@pytest.mark.parametrize("uploader_of", ["held"], indirect=True)
@pytest.mark.parametrize(
    "place", ["uploads/t_REALTIME_{name}_u.tar.gz", pytest.param("reingestion/x/{name}.tar.gz", marks=FULL)]
)
def test_uploads_requested_by_the_controller_wait_as_long_as_pinot_does(
    uploader_of: Callable[[str], Uploader], place: str
) -> None:
    uploader = uploader_of(place.partition("/")[0])
    tar = uploader.tar.parent / place.format(name=uploader.segment)
    tar.parent.mkdir(parents=True)
    uploader.tar.rename(tar)
    uploader.ask("hold")
    waits_s = 2 * WAIT_S
    asked = uploader.upload(tar, timeout_ms=int(1000 * waits_s))
    assert asked["uri"] is None
    assert asked["seconds"] >= waits_s
    uploader.ask("release")
    assert Path(uploader.upload(tar)["uri"].partition("://")[2]).read_bytes() == tar.read_bytes()
    assert uploader.counts() == {}
