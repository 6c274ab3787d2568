from __future__ import annotations

import pytest

from controller_client.errors import ConfigError
from server_hooks.commit_upload.backlog import BacklogLimits
from server_hooks.commit_upload.settings import CommitUploadSettings

BASE = {
    "pinot.server.instance.segment.store.uri": "s3://b/commits",
    "pinot.server.instance.dataDir": "/data",
}
OURS = "pinotPlugins.commitUpload"


def test_the_defaults_are_as_documented() -> None:
    found = CommitUploadSettings.of(BASE)
    assert found is not None
    assert (found.wait_s, found.limits, found.final_base_uri) == (5.0, BacklogLimits(), "s3://b/commits")
    assert str(found.folder) == "/data/pythonCommitUploads"
    assert found.limits == BacklogLimits(10 * 1024**3, 86_400.0, 2 * 1024**3)


def test_set_values_override_the_defaults() -> None:
    found = CommitUploadSettings.of(
        {
            **BASE,
            f"{OURS}.waitMs": "1500",
            f"{OURS}.dataDir": "s3://b/segments",
            f"{OURS}.backlog.maxBytes": "1000",
            f"{OURS}.backlog.maxAgeMs": "60000",
            f"{OURS}.backlog.minFreeBytes": "0",
        }
    )
    assert found is not None
    assert (found.wait_s, found.final_base_uri) == (1.5, "s3://b/segments")
    assert (found.limits.max_bytes, found.limits.max_age_s, found.limits.min_free_bytes) == (1000, 60.0, 0)


def test_without_a_store_there_are_no_settings() -> None:
    assert CommitUploadSettings.of({"pinot.server.instance.dataDir": "/data"}) is None


@pytest.mark.parametrize(
    ("key", "value"),
    [("waitMs", "soon"), ("backlog.maxBytes", "-1"), ("backlog.maxAgeMs", "1d"), ("dataDir", "hdfs://n/x")],
)
def test_invalid_numbers_and_unsupported_stores_are_refused(key: str, value: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CommitUploadSettings.of({**BASE, f"{OURS}.{key}": value})
    assert caught.value.where == f"{OURS}.{key}"
