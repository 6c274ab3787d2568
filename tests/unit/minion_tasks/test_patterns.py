from __future__ import annotations

import pytest

from controller_client.errors import ConfigError
from minion_tasks.file_ingestion.patterns import PathMatcher, path_of


@pytest.mark.parametrize(
    ("pattern", "uri", "expected"),
    [
        ("glob:**/*.json.gz", "s3://bucket/a/b/c.json.gz", True),
        ("glob:**/*.json.gz", "s3://bucket/c.json.gz", True),
        ("glob:**/*.json.gz", "s3://bucket/c.json", False),
        (
            "glob:*.csv",
            "file:///data/a.csv",
            False,
        ),  # as in Java: * does not cross folders, and the path is whole
        ("glob:/data/*.csv", "file:///data/a.csv", True),
        ("glob:/data/*.csv", "file:///data/sub/a.csv", False),
        ("glob:/data/**.csv", "file:///data/sub/a.csv", True),
        ("glob:**/part-?.csv", "file:///data/part-1.csv", True),
        ("glob:**/part-?.csv", "file:///data/part-12.csv", False),
        ("glob:**/*.{csv,json}", "file:///data/a.json", True),
        ("glob:**/*.{csv,json}", "file:///data/a.avro", False),
        ("glob:**/[a-c]*.csv", "file:///data/b1.csv", True),
        ("glob:**/[!a-c]*.csv", "file:///data/b1.csv", False),
        ("glob:**/a,b}.csv", "file:///data/a,b}.csv", True),
        (r"glob:**/\*.csv", "file:///data/*.csv", True),
        (r"glob:**/\*.csv", "file:///data/a.csv", False),
        ("glob:**/a+b(c).csv", "file:///data/a+b(c).csv", True),
        ("regex:.*/part-[0-9]+\\.csv", "file:///data/part-12.csv", True),
        ("regex:part", "file:///data/part", False),
        ("glob:**/ü *.csv", "file:///data/ü 1.csv", True),
    ],
)
def test_matches_as_java_does(pattern: str, uri: str, expected: bool) -> None:
    assert PathMatcher(pattern).matches(uri) is expected


def test_the_path_of_a_uri_has_single_slashes() -> None:
    assert path_of("s3://bucket/a//b") == "s3:/bucket/a/b"
    assert path_of("file:///a/b") == "/a/b"


@pytest.mark.parametrize(
    "pattern", ["*.csv", "glob:[", "glob:[]", "glob:{a,{b}}", "glob:{a", "glob:a\\", "regex:(", "sql:x"]
)
def test_a_malformed_pattern_is_refused_with_its_key(pattern: str) -> None:
    with pytest.raises(ConfigError, match="excludeFileNamePattern"):
        PathMatcher(pattern, key="excludeFileNamePattern")
