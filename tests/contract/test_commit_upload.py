"""Pinot's own uploader passes a commit's upload to ours, for any configured store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.commit_upload_program import WAIT_S
from tests.support.needs import Need, inside
from tests.support.program import Program
from tests.unit.controller_client.deepstore.samples import write_tar

pytestmark = pytest.mark.jvm

_NAME = "t__0__0__20261123T1200Z"
_PINOT_WAITS_MS = 300_000
_MUCH_LONGER_S = 60.0


@dataclass(frozen=True)
class Uploader:
    """The child process and its folders.

    Attributes:
        tar: The tar that a commit builds.
        home: The segment's location in the store.
    """

    program: Program
    tar: Path
    home: Path

    def upload(self, tar: Path, timeout_ms: int = _PINOT_WAITS_MS) -> dict[str, Any]:
        """Upload a tar as that segment."""
        order = {"do": "upload", "tar": str(tar), "segment": _NAME, "timeout_ms": timeout_ms}
        return self.program.ask(order)

    def counts(self) -> dict[str, int]:
        """The outcomes of the uploads."""
        return {name: count for name, count in self.program.ask({"do": "count"}).items() if count}


@pytest.fixture
def scheme() -> str:
    return "held"


@pytest.fixture
def uploader(tmp_path: Path, scheme: str) -> Iterator[Uploader]:
    tar = tmp_path / "index" / "t_REALTIME" / f"{_NAME}.tar.gz"
    tar.parent.mkdir(parents=True)
    write_tar(tar, name=_NAME)
    (tmp_path / "store" / "t").mkdir(parents=True)
    program = Program(
        "tests.contract.commit_upload_program", str(tmp_path), scheme, log=tmp_path / "child.log"
    )
    try:
        assert program.answer() is not None, program.said()
        yield Uploader(program, tar, tmp_path / "store" / "t" / _NAME)
    finally:
        program.kill()


@pytest.mark.parametrize("scheme", ["file", "held"])
def test_a_commit_uploads_through_ours_and_a_retry_copies(uploader: Uploader) -> None:
    first, second = uploader.upload(uploader.tar)["uri"], uploader.upload(uploader.tar)["uri"]
    assert first != second
    for uri in (first, second):
        uploaded = Path(uri.partition("://")[2])
        assert uploaded.name.startswith(_NAME)
        assert uploaded.parent == uploader.home.parent
        assert uploaded.read_bytes() == uploader.tar.read_bytes()
    assert uploader.counts() == {"ok": 2}


def test_a_store_that_hangs_holds_a_commit_up_for_its_wait_alone_and_the_upload_ends_late(
    uploader: Uploader,
) -> None:
    uploader.program.ask({"do": "hold"})
    hanging = uploader.upload(uploader.tar)
    assert hanging["uri"] is None
    assert WAIT_S <= hanging["seconds"] < _MUCH_LONGER_S
    content = uploader.tar.read_bytes()
    uploader.tar.unlink()  # as Pinot does at the end of a commit
    assert list(uploader.home.parent.iterdir()) == []
    uploader.program.ask({"do": "release"})
    late = uploader.program.ask({"do": "late"})
    assert late["moved"]
    assert Path(late["home"].partition("://")[2]) == uploader.home
    assert [each.name for each in uploader.home.parent.iterdir()] == [_NAME]
    assert uploader.home.read_bytes() == content
    assert uploader.counts() == {"timed_out": 1, "late": 1}


@inside(Need.UPLOAD_FILE_SYSTEM)
@pytest.mark.parametrize("place", ["uploads/t_REALTIME_{name}_u.tar.gz", "reingestion/x/{name}.tar.gz"])
def test_uploads_requested_by_the_controller_wait_as_long_as_pinot_does(
    uploader: Uploader, place: str
) -> None:
    tar = uploader.tar.parent / place.format(name=_NAME)
    tar.parent.mkdir(parents=True)
    uploader.tar.rename(tar)
    uploader.program.ask({"do": "hold"})
    waits_s = 2 * WAIT_S
    asked = uploader.upload(tar, timeout_ms=int(1000 * waits_s))
    assert asked["uri"] is None
    assert asked["seconds"] >= waits_s
    uploader.program.ask({"do": "release"})
    assert Path(uploader.upload(tar)["uri"].partition("://")[2]).read_bytes() == tar.read_bytes()
    assert uploader.counts() == {}
