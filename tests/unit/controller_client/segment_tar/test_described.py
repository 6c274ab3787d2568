"""The name and the partitions that a tar's own metadata.properties states, compared with its folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from controller_client.errors import DataError
from controller_client.segment_tar import describe_tar
from pinotctl.root import cli
from tests.unit.controller_client.scripted_server import ScriptedServer, answer
from tests.unit.controller_client.segment_tar.corpus import files_of, pack, write_gzip

HERE = Path(__file__).parent
AS_BUILT = [HERE / version / "as_built.tar.gz" for version in ("pinot_0_11", "pinot_1_5")]
UPSERT: dict[str, object] = {
    "tableName": "t_OFFLINE",
    "tableType": "OFFLINE",
    "segmentsConfig": {},
    "upsertConfig": {"mode": "FULL"},
}
Packed = Callable[..., Path]


@pytest.fixture
def packed(tmp_path: Path) -> Packed:
    """Return a function that writes a tar with a metadata.properties."""

    def write(*lines: str, folder: str = "s", path: str = "v3/metadata.properties") -> Path:
        raw = "".join(f"{line}\n" for line in lines).encode()
        return write_gzip(tmp_path / "x.tar.gz", pack({path: raw, "v3/columns.psf": b"x"}, top=folder))

    return write


def _with_folder(tmp_path: Path, tar: Path, folder: str) -> Path:
    return write_gzip(tmp_path / tar.name, pack(files_of(tar), top=folder))


@pytest.mark.parametrize("tar", AS_BUILT)
def test_pinots_own_segments(tar: Path, tmp_path: Path) -> None:
    name = describe_tar(tar).name
    with pytest.raises(
        DataError, match=f"the folder in the tar.gz is named other, .* names the segment {name}"
    ):
        describe_tar(_with_folder(tmp_path, tar, "other"))
    assert describe_tar(_with_folder(tmp_path, tar, name)) == describe_tar(tar)


@pytest.mark.parametrize(
    ("lines", "folder", "words"),
    [
        ((), "s", "has no metadata.properties"),
        (("segment.name = t",), "s", "named s, .* names the segment t"),
        (("segment.name = S",), "s", "names the segment S"),
        (("segment.name = a/b",), "a", "cannot be used as a file name"),
        ((r"segment.name = a\\b",), "s", "cannot be used as a file name"),
        (("segment.name = ..",), "s", "cannot be used as a file name"),
        (("segment.table.name = s",), "s", "cannot be used as a file name"),
    ],
)
def test_a_tar_that_is_not_what_its_folder_says(
    packed: Packed, lines: tuple[str, ...], folder: str, words: str
) -> None:
    path = "v3/metadata.properties" if lines else "v3/x"
    with pytest.raises(DataError, match=words):
        describe_tar(packed(*lines, folder=folder, path=path))


def test_a_tar_with_two_segments(tmp_path: Path) -> None:
    texts = {"metadata.properties": b"segment.name = s\n", "v3/metadata.properties": b"segment.name = t\n"}
    with pytest.raises(DataError, match="it contains the segments s, t"):
        describe_tar(write_gzip(tmp_path / "x.tar.gz", pack(texts, top="s")))


@pytest.mark.parametrize(
    ("line", "name"),
    [("a b", "a b"), (r"a\,b", "a,b"), ("z\\u00fcrich", "zürich"), ("zürich", "zürich"), ("a%b", "a%b")],
)
def test_a_name_is_read_as_pinot_writes_it(packed: Packed, line: str, name: str) -> None:
    assert describe_tar(packed(f"segment.name = {line}", folder=name)).name == name


@pytest.mark.parametrize(
    ("name", "partitions", "one"),
    [
        ("s", {}, False),
        ("s", {"id": "2"}, True),
        ("s", {"id": "1,2"}, False),
        ("s", {"id": "[1 2]"}, False),
        ("s", {"id": "1", "city": "2"}, False),
        ("t__0__17__20260101T0000Z", {}, True),
        ("p__t__3__20260101T0000Z__x", {}, True),
        ("p__t__x__20260101T0000Z__x", {}, False),
        ("t__0__17", {}, False),
    ],
)
def test_a_segment_of_one_partition(packed: Packed, name: str, partitions: dict[str, str], one: bool) -> None:
    lines = [f"column.{column}.partitionValues = {ids}" for column, ids in partitions.items()]
    tar = packed(f"segment.name = {name}", "segment.dimension.column.names = city,id", *lines, folder=name)
    assert describe_tar(tar).is_of_one_partition is one


def _upload(tar: Path, config: dict[str, object], *options: str) -> tuple[int, str, list[str]]:
    live = answer(200, {"OFFLINE": config})
    record = (answer(200, {"clusterName": "c"}), answer(200, {"simpleFields": {}}))
    with ScriptedServer(live, live, *record, live, *record) as server:
        words = ("--controller", server.url, "segment", "upload", "t_OFFLINE", str(tar), *options)
        done = CliRunner().invoke(cli, words)
        return done.exit_code, done.stderr, [seen.method for seen in server.requests]


@pytest.mark.parametrize("options", [(), ("--no-wait",), ("--dry-run",)])
def test_nothing_is_uploaded_under_another_name(tmp_path: Path, options: tuple[str, ...]) -> None:
    code, text, methods = _upload(_with_folder(tmp_path, AS_BUILT[0], "other"), UPSERT, *options)
    assert (code, "is named other" in text, "POST" in methods) == (1, True, False), text


@pytest.mark.parametrize("options", [(), ("--no-wait",), ("--dry-run",)])
def test_nothing_is_uploaded_that_an_upsert_table_cannot_load(options: tuple[str, ...]) -> None:
    code, text, methods = _upload(AS_BUILT[0], UPSERT, *options)
    assert (code, "does not name its one partition" in text, "POST" in methods) == (2, True, False), text
