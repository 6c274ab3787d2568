"""Files that are not data: what Spark, Hive and Hadoop's tools leave in a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.filestore import open_store
from minion_tasks.file_ingestion.params.patterns import HiddenNames, PathMatcher
from minion_tasks.file_ingestion.plan.planner import select

NOT_DATA = [
    *("_SUCCESS", "_metadata", "_common_metadata", ".part-0.csv.crc", "._SUCCESS.crc", ".hidden.csv"),
    *("_temporary/part-1.csv", "_temporary/0/task_1/part-1.csv", "day=1/_temporary/0/part-1.csv"),
    *("day=1/.part-0.csv.crc", ".hive-staging_hive_1/-ext-10000/000000_0", "_delta_log/0.json"),
    *("_spark_metadata/0", "part-2.csv._COPYING_", "__late/part-0.csv", "_", "."),
]
DATA = [
    "part-0.csv",
    "day=1/part-0.csv",
    "_day=1/part-0.csv",
    "a_b.csv",
    "a.b",
    "a._COPYING_.csv",
    "-.csv",
    "=_.csv",
]
FOLDERS = [
    *("file:///data/in", "file:///data/in/", "/data/in", "s3://bucket/in", "S3://bucket/in/", "gs://bucket"),
    *("s3://bucket/_in/.x/", "file:///data/_in/.x", "file:/data/in", "webhdfs://node:9870/_a/in"),
]


def listed(folder: str, name: str) -> str:
    """The URI with which a store lists a file."""
    folder = folder.rstrip("/")
    if folder.startswith("/"):
        return f"file://{folder}/{name}"
    return f"{folder.replace('file:/data', 'file:///data').replace('S3', 's3')}/{name}"


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_below_the_folder_decide(folder: str) -> None:
    names = HiddenNames(folder, None)
    assert [name for name in NOT_DATA if not names.hide(listed(folder, name))] == []
    assert [name for name in DATA if names.hide(listed(folder, name))] == []


def test_the_encoding_of_a_local_folder_may_be_decoded(tmp_path: Path) -> None:
    (tmp_path / "_in 1").mkdir()
    for name in ("part-0.csv", "_SUCCESS"):
        (tmp_path / "_in 1" / name).touch()
    folder = f"file://{tmp_path}/_in%201"
    selected = select(open_store(folder, {}).list(folder), folder, None, None)
    assert [Path(uri).name for uri in selected.files] == ["part-0.csv"]
    assert selected.hidden.files == 1


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("glob:**/*", []),
        ("glob:**", []),
        ("glob:**/?SUCCESS", []),
        ("glob:**/[_.]*", []),
        ("glob:**/_SUCCESS", ["_SUCCESS"]),
        ("glob:**/_meta*", ["_metadata"]),
        ("glob:**/{_metadata,_common_metadata}", ["_metadata", "_common_metadata"]),
        ("glob:**/_temporary/*", ["_temporary/part-1.csv"]),
        ("glob:**/day=1/_temporary/**", ["day=1/_temporary/0/part-1.csv"]),
        ("glob:**/.hidden.csv", [".hidden.csv"]),
        (r"glob:**/\.hidden.csv", [".hidden.csv"]),
        ("glob:**/__late/**", ["__late/part-0.csv"]),
        ("glob:**/part-*", []),
        ("glob:**/day=1/**", []),
        (r"regex:.*/\.hidden\.csv", [".hidden.csv"]),
        ("regex:.*/.hidden.csv", []),
        ("regex:.*/in/_temporary/.*", ["_temporary/part-1.csv", "_temporary/0/task_1/part-1.csv"]),
        ("regex:.*", []),
    ],
)
def test_an_include_pattern_may_spell_a_name_out(pattern: str, names: list[str]) -> None:
    include = PathMatcher(pattern)
    hidden = HiddenNames("s3://b/in/", include)
    taken = [name for name in NOT_DATA if include.matches(f"s3://b/in/{name}")]
    assert [name for name in taken if not hidden.hide(f"s3://b/in/{name}")] == names
    assert hidden.hide("s3://b/in/part-2.csv._COPYING_")


PARTS = st.lists(
    st.sampled_from(["a", "_", ".", "=", "_SUCCESS", "x.csv", "._COPYING_"]), min_size=1, max_size=3
)


@given(st.lists(PARTS.map("".join), min_size=1, max_size=4))
def test_a_file_is_hidden_with_its_folder(path: list[str]) -> None:
    names = HiddenNames("s3://b/_in", None)
    expected = any(
        part[0] == "." or (part[0] == "_" and "=" not in part) or part.endswith("._COPYING_") for part in path
    )
    assert names.hide(f"s3://b/_in/{'/'.join(path)}") is expected
