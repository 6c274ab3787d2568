"""Every record written outside of a process: this release's records are fixtures, later ones are refused.

A change of a format fails here. A new field is a new fixture; what a reader has to understand is a new
version, whose reader keeps the fixture of the previous version.
"""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from controller_client._version import __version__
from controller_client.common.formats import Format, log_skipped, with_unknown
from controller_client.errors import DataError, FormatVersionError, NotAppliedError
from tests.unit.formats.files import FILES, UPSERT
from tests.unit.formats.sample import Sample
from tests.unit.formats.znodes import GENERATION, ZNODES
from tests.unit.test_homes import PACKAGES

FIXTURES = Path(__file__).parent / "fixtures"
SAMPLES = [*ZNODES, *FILES]
OLDER: dict[str, tuple[str, object]] = {
    "upsert-settings-1.json": ("upsert-settings.json", UPSERT),
    "upsert-generation-0.1.json": (
        "upsert-generation.json",
        replace(GENERATION, resent_from=None, begins={}),
    ),
    "server-checkpoint-0.1.json": ("server-checkpoint.json", (21, {})),
}
"""Fixtures of previous versions, and of releases without a field: that of this release, and what is read."""
each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[sample.file for sample in SAMPLES])


@each_sample
def test_what_this_release_writes_is_the_fixture_which_it_reads(sample: Sample, tmp_path: Path) -> None:
    fixture = (FIXTURES / sample.file).read_bytes()
    written, read = tmp_path / "written", tmp_path / "read"
    written.mkdir()
    read.mkdir()
    assert sample.write(written) == fixture
    assert sample.read(fixture, read) == sample.value


@each_sample
def test_a_record_of_the_next_version_is_refused_in_one_sentence(
    sample: Sample, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    newer = sample.newer((FIXTURES / sample.file).read_bytes())
    if sample.is_skipped:
        assert sample.read(newer, tmp_path) is None
        text = caplog.messages[-1]
    else:
        with pytest.raises(FormatVersionError) as caught:
            sample.read(newer, tmp_path)
        text = str(caught.value)
    assert text.startswith(sample.format.name)
    assert f"of format version {sample.next_version}, but this process (pinot-plugins {__version__})" in text
    oldest, version = sample.format.oldest, sample.format.version
    reads = f"version {version}" if oldest == version else f"{oldest} to {version}"
    assert f"reads {reads}: upgrade this process" in text
    assert "\n" not in text


def test_every_format_of_the_code_has_a_fixture_and_every_fixture_a_format() -> None:
    assert {sample.format for sample in SAMPLES} == set(_formats())
    assert {sample.file for sample in SAMPLES} | OLDER.keys() == {path.name for path in FIXTURES.iterdir()}


@pytest.mark.parametrize("older", OLDER)
def test_a_record_of_a_previous_release_is_still_read(older: str, tmp_path: Path) -> None:
    current, value = OLDER[older]
    [sample] = [sample for sample in SAMPLES if sample.file == current]
    assert sample.read((FIXTURES / older).read_bytes(), tmp_path) == value


def _formats() -> Iterator[Format]:
    for package in map(importlib.import_module, PACKAGES):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            source = importlib.util.find_spec(found.name)
            if source is None or source.origin is None or "Format(" not in Path(source.origin).read_text():
                continue
            for value in vars(importlib.import_module(found.name)).values():
                if isinstance(value, Format):
                    yield value


OLD = Format("the thing", version=4, oldest=2)


def test_a_record_without_a_version_is_of_the_first() -> None:
    assert Format("the thing").check({}, "/x") == 1
    assert [OLD.check({"format": each}, "/x") for each in ("2", 3, "4")] == [2, 3, 4]


@pytest.mark.parametrize("found", ["5", 5, "9" * 5000])
def test_a_later_one_is_refused_as_not_applied(found: object) -> None:
    with pytest.raises(NotAppliedError, match=r"the thing in /x is .*reads 2 to 4: upgrade this process"):
        OLD.check({"format": found}, "/x")


def test_one_that_is_too_old_needs_a_release_in_between() -> None:
    with pytest.raises(FormatVersionError, match="a release in between"):
        OLD.check({}, "/x")


@pytest.mark.parametrize("found", ["", "x", "0", 0, -1, 1.5, True, None, [], "²"])
def test_what_is_no_version_is_damage(found: object) -> None:
    with pytest.raises(DataError, match="has the format version"):
        OLD.check({"format": found}, "/x")


def test_fields_that_are_not_known_stay() -> None:
    present = {"format": "1", "a": "old", "gone": "x", "unknown": "kept"}
    assert with_unknown({"format": "1", "a": "new"}, present, ("format", "a", "gone")) == {
        "format": "1",
        "a": "new",
        "unknown": "kept",
    }


def test_what_a_loop_skips_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("some loop")
    for place in ("/once", "/once", "/other"):
        with pytest.raises(FormatVersionError) as caught:
            OLD.check({"format": 5}, place)
        log_skipped(logger, caught.value)
    assert [record.getMessage().split(" in ")[1].split()[0] for record in caplog.records] == [
        "/once",
        "/other",
    ]
