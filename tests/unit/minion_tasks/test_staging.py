from __future__ import annotations

import pytest

from minion_tasks.file_ingestion.engine.staging import is_below


@pytest.mark.parametrize(
    ("uri", "folder", "expected"),
    [
        ("s3://b/out/x.csv", "s3://b/out", True),
        ("s3://b/out/", "s3://b/out", True),
        ("s3://b/out", "s3://b/out/", True),
        ("s3://b/outer/x.csv", "s3://b/out", False),
        ("s3://b/", "s3://b/out", False),
        ("s3://other/out/x", "s3://b/out", False),
        ("/out/x", "file:///out", True),
        ("file:///out/x", "file:/out/", True),
        ("/out/x", "s3://out", False),
    ],
)
def test_uris_in_a_folder(uri: str, folder: str, expected: bool) -> None:
    assert is_below(uri, folder) is expected
