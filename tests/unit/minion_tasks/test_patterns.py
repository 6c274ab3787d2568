from __future__ import annotations

import itertools
import random
import re
import time

import pytest
from hypothesis import assume, given
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


@pytest.mark.parametrize(
    "body",
    [
        *(
            ".*/(?!tmp).*",
            ".*(?=x)",
            "(?<=a)b",
            "(?<!a)b",
            r"(a)\1",
            "(?P<n>a)(?P=n)",
            "(a)?(?(1)b|c)",
            "(?>a)",
        ),
        *("a*+", "a++", "a?+", "a{1,2}+", "(?#x)a", "(?m)a", "(?x)a b", "(?-i:a)"),
        *("a{4097}", "(a{100}){100}", "((((a{9}){9}){9}){9}){9}", "((()){999}){999}", "a{9999999999}"),
        *("(" * 2000 + "a" + ")" * 2000, "a" * 4097),
    ],
)
def test_what_cannot_be_matched_in_linear_time_is_refused(body: str) -> None:
    with pytest.raises(ConfigError, match="is not a valid pattern") as refused:
        PathMatcher(f"regex:{body}")
    assert len(refused.value.message) < 500


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("regex:.*/(a+)+b", "a" * 30, False),
        ("regex:.*/(a+)+b", "a" * 3000 + "b", True),
        ("regex:.*/(a|a)*", "a" * 3000 + "c", False),
        ("glob:**/*a*a*a*a*ab", "a" * 220, False),
        ("glob:**/" + "*a" * 500 + "b", "a" * 1500, False),
        ("glob:" + "*" * 4000 + "{a,b}" * 5 + "**", "a" * 200, True),
        # More states than are kept: they are forgotten.
        ("regex:.*a.{20}", "".join(random.Random(7).choices("ab", k=21_000)) + "a" + "b" * 20, True),
    ],
)
def test_the_time_is_linear(pattern: str, name: str, expected: bool) -> None:
    began_s = time.thread_time()
    matcher = PathMatcher(pattern)
    matcher.check_reaches(FOLDERS)
    assert matcher.matches(f"file:///data/in/{name}") is expected
    assert time.thread_time() - began_s < 5


_ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "-",
        ".",
        "[ab]",
        "[^a]",
        "[]-]",
        "[^]a]",
        r"\w",
        r"\W",
        r"\d",
        r"\.",
        r"\x61",
        r"\141",
        "[a-]",
        "[\\]]",
    ]
)
_ANCHORED = st.sampled_from(["^", "$", r"\b", r"\B", r"\A", r"\Z", "{", "}", "{}", "]", "(?i:A)", "(?P<n>b)"])
_REGEXES = st.recursive(
    _ATOMS | _ANCHORED,
    lambda inner: (
        st.tuples(inner, inner).map("".join)
        | st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format)
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "*?", "{2}", "{0,2}", "{,1}", "{1,}", "{,}"])).map(
            "(?:{0[0]}){0[1]}".format
        )
    ),
    max_leaves=7,
)


@given(
    body=_REGEXES,
    flags=st.sampled_from(["", "(?i)", "(?s)"]),
    path=st.text("abA-_.]{} 1", min_size=1, max_size=7),
)
def test_a_regular_expression_matches_as_in_python(body: str, flags: str, path: str) -> None:
    assume(body.count("(?P<n>") < 2)
    expected = re.fullmatch(flags + body, path, re.DOTALL) is not None
    assert PathMatcher(f"regex:{flags}{body}").matches(path) is expected


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
        ("glob:" + "{a,b,c,d}" * 9 + "**", "glob:**/" + "{a,b,c,d}" * 9 + "**"),
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
        "glob:/data/in/" + "{a,b,c,d}" * 9 + "**",
    ],
)
def test_a_pattern_that_some_path_matches_is_accepted(pattern: str) -> None:
    PathMatcher(pattern).check_reaches(FOLDERS)


_REGEX_OF = {
    "**": ".*",
    "*": "[^/]*",
    "?": "[^/]",
    "{a,b}": "(?:a|b)",
    "{/data,x}": "(?:/data|x)",
    "{**,/}": "(?:.*|/)",
    "[!a]": "[^a/]",
    "[d-i]": "[d-i]",
    ".csv": "[.]csv",
    **{plain: plain for plain in ("/", "/data", "/in/", "data", "in", "a")},
}
_PIECES = st.sampled_from(sorted(_REGEX_OF))
_NAMES = st.text("abdin/.csvt", min_size=1, max_size=8).filter(lambda name: "//" not in f"/{name}/")


@given(pieces=st.lists(_PIECES, min_size=1, max_size=6), name=_NAMES)
def test_what_matches_is_never_refused(pieces: list[str], name: str) -> None:
    matcher = PathMatcher("glob:" + "".join(pieces))
    if matcher.matches(f"file:///data/in/{name}"):
        assert matcher.can_match_below("file:///data/in")


@given(pieces=st.lists(_PIECES, max_size=6), name=st.text("adbin/.csvtx", max_size=9))
def test_a_glob_matches_like_the_same_regular_expression(pieces: list[str], name: str) -> None:
    assume(("*", "*") not in itertools.pairwise(pieces))  # that is **
    expected = re.fullmatch("".join(_REGEX_OF[piece] for piece in pieces), path_of(name)) is not None
    assert PathMatcher("glob:" + "".join(pieces)).matches(name) is expected


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
