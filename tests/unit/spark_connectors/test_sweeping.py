from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from controller_client.errors import ConfigError
from controller_client.filestore import FileInfo
from spark_connectors.options import WriteOptions, parse_options
from spark_connectors.write.sweeping import dead_folders

ROOT = "file:///store/pinot-plugins-staging/spark-writes/t_OFFLINE"


def staged(folder: str, at_ms: int) -> FileInfo:
    return FileInfo(f"{ROOT}/{folder}/t_spark_0_{at_ms}.tar.gz", 1, at_ms)


def test_folders_of_ended_writes_are_dead_whatever_their_age() -> None:
    files = [staged("published", 109), staged("alive", 109)]
    assert dead_folders(files, {"published", "gone"}, now_ms=110, ttl_ms=100) == ["published"]


@example({"dead": [0, 10], "alive": [0, 11]}, 110, 100)
@example({"young": [0, 10], "younger": [0, 11]}, 109, 100)
@given(
    st.dictionaries(st.sampled_from("abcd"), st.lists(st.integers(0, 1000), min_size=1), max_size=4),
    st.integers(0, 2000),
    st.integers(1, 1000),
)
def test_no_folder_with_a_recent_file_is_dead(
    folders: dict[str, list[int]], now_ms: int, ttl_ms: int
) -> None:
    files = [staged(name, at_ms) for name, times in folders.items() for at_ms in times]
    dead = dead_folders(files, (), now_ms=now_ms, ttl_ms=ttl_ms)
    assert set(dead) == {
        name for name, times in folders.items() if all(now_ms - at_ms >= ttl_ms for at_ms in times)
    }
    assert len(dead) == len(set(dead))


def test_a_too_short_staging_ttl_is_rejected() -> None:
    needed = {"controller": "http://localhost:9000", "table": "t"}
    assert parse_options(WriteOptions, {**needed, "stagingTtl": "1h"}).staging_ttl_s == 3600
    with pytest.raises(ConfigError, match="1h or longer"):
        parse_options(WriteOptions, {**needed, "stagingTtl": "59m"})
