from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller_client.errors import ConfigError
from minion_tasks.file_ingestion.params.patterns import PathMatcher, path_of


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


FOLDERS = ("file:///data/in/", "s3://bucket/in")


@pytest.mark.parametrize(
    ("pattern", "better"),
    [
        ("glob:*.csv", "glob:**/*.csv"),
        ("glob:part-[0-9]*.csv", "glob:**/part-[0-9]*.csv"),
        ("glob:{a,b}/*.csv", "glob:**/{a,b}/*.csv"),
        ("glob:?.csv", "glob:**/?.csv"),
        ("glob:in/*.csv", "glob:**/in/*.csv"),
        ("glob:/elsewhere/**.csv", "glob:**/elsewhere/**.csv"),
        ("glob:file:///data/in/*.csv", "glob:**/data/in/*.csv"),
        ("glob:s3://bucket/in/*.csv", "glob:**/bucket/in/*.csv"),
        ("glob:**//*.csv", None),
        ("glob:**/", None),
        ("glob:/data/in/", None),
        ("regex:part-\\d+\\.csv", "regex:.*/part-\\d+\\.csv"),
        ("regex:^x.*", "regex:.*/x.*"),
        ("regex:/elsewhere/.*", "regex:.*/elsewhere/.*"),
    ],
)
def test_a_pattern_that_no_path_can_match_is_refused_with_the_right_form(
    pattern: str, better: str | None
) -> None:
    with pytest.raises(ConfigError, match=r"excludeFileNamePattern .* cannot match any file in") as refused:
        PathMatcher(pattern, key="excludeFileNamePattern").check_reaches(FOLDERS)
    assert refused.value.remedy == (f"did you mean {better!r}?" if better else None)


@pytest.mark.parametrize(
    "pattern",
    [
        *("glob:**/*.csv", "glob:**", "glob:**.csv", "glob:/data/**", "glob:/data/in/*.csv", "glob:/*/in/*"),
        *("glob:/data/in/{a,b}.csv", "glob:{/data/in,/else}/*.csv", "glob:s3:/bucket/in/*", "glob:/d?ta/*/x"),
        *("glob:/data/[a-j]n/x", "glob:/data/in/sub/*.csv", "glob:/**/x", "glob:{a,b,**/}x", "glob:**?"),
        *("regex:.*", "regex:.*\\.csv", "regex:/data/.*", "regex:/data/in/x?.csv", "regex:(?i).*CSV"),
        *("regex:part|.*csv", "regex:[^x]+", "regex:/?data", "regex:\\/data\\/.*", "regex:s3:/bucket.*"),
        "glob:" + "{a,b,c,d}" * 9 + "**",
    ],
)
def test_a_pattern_that_some_path_matches_is_accepted(pattern: str) -> None:
    PathMatcher(pattern).check_reaches(FOLDERS)


_PIECES = st.sampled_from(
    "** * ? / /data /in/ data in a .csv {a,b} {/data,x} {**,/} [!a] [d-i]".split()  # noqa: SIM905
)
_NAMES = st.text("abdin/.csvt", min_size=1, max_size=8).filter(lambda name: "//" not in f"/{name}/")


@given(pieces=st.lists(_PIECES, min_size=1, max_size=6), name=_NAMES)
def test_what_matches_is_never_refused(pieces: list[str], name: str) -> None:
    matcher = PathMatcher("glob:" + "".join(pieces))
    if matcher.matches(f"file:///data/in/{name}"):
        assert matcher.can_match_below("file:///data/in")


@given(pieces=st.lists(_PIECES, min_size=1, max_size=3))
def test_an_accepted_pattern_can_match(pieces: list[str]) -> None:
    matcher = PathMatcher("glob:" + "".join(pieces))
    if matcher.can_match_below("file:///data/in"):
        # Whatever three pieces can ask for behind the folder is among these.
        alphabet = ("", "a", "b", "x", "d", "i", "z", ".csv", "data", "in", "/data", "/in", "/a", "/z")
        names = ("".join(parts) for parts in itertools.product(alphabet, repeat=4))
        assert any(
            matcher.matches(f"file:///data/in/{name}") for name in names if name and not name.startswith("/")
        )
