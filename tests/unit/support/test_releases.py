"""The later release that tests have beside this one is what they take it for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from controller_client.common.formats import Format
from minion_tasks.file_ingestion.session.records import GROUP_FORMAT, SESSION_FORMAT
from tests.support.releases import LATER_VERSION, THIS, Release, make_later

ASKED = """
import json, sys
from controller_client.errors import FormatVersionError
from minion_tasks.file_ingestion.session import records

def refused(found):
    try:
        records.SESSION_FORMAT.check({"format": str(found)}, "/x")
    except FormatVersionError as error:
        return str(error)

print(json.dumps({
    "file": records.__file__,
    "writes": [each.stamp({})["format"] for each in (records.SESSION_FORMAT, records.GROUP_FORMAT)],
    "refused": [refused(each) for each in json.loads(sys.argv[1])],
}))
"""


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return make_later(tmp_path_factory.mktemp("later"), [SESSION_FORMAT])


def asked(release: Release, *versions: int) -> Any:
    command = [sys.executable, "-c", ASKED, json.dumps(versions)]
    return json.loads(subprocess.check_output(command, env=release.environment(), text=True))


def said(release: Release, *words: str) -> str:
    out, err = release.start(*words).communicate()
    assert err == ""
    return out


def test_the_later_one_reads_what_this_one_writes_and_not_the_other_way(later: Release) -> None:
    now, following = SESSION_FORMAT.version, SESSION_FORMAT.version + 1
    this, newer = asked(THIS, now, following), asked(later, now, following)
    assert (this["writes"], newer["writes"]) == (
        [str(now), str(GROUP_FORMAT.version)],
        [str(following), str(GROUP_FORMAT.version)],
    )
    assert this["refused"][0] is None
    assert (
        f"of format version {following}, but this process (pinot-plugins {THIS.version})"
        in this["refused"][1]
    )
    assert newer["refused"] == [None, None]
    assert Path(this["file"]).is_relative_to(THIS.folder)
    assert Path(newer["file"]).is_relative_to(later.folder)


def test_each_says_its_version_and_has_all_commands(later: Release) -> None:
    assert THIS.version in said(THIS, "--version")
    assert LATER_VERSION in said(later, "--version")
    assert said(later, "--help") == said(THIS, "--help")


def test_a_format_that_is_not_in_the_code_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="is to be in one place, and is in none"):
        make_later(tmp_path, [Format("of nobody")])
