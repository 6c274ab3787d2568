"""A file is written whole or not at all, and never through a link that somebody left."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from controller_client.common.new_file import new_file


def fail_after_writing(target: Path) -> None:
    with new_file(target) as new:
        new.write_text("half")
        raise ZeroDivisionError


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a"
    with pytest.raises(ZeroDivisionError):
        fail_after_writing(target)
    assert list(tmp_path.iterdir()) == []
    target.write_text("old")
    with pytest.raises(ZeroDivisionError):
        fail_after_writing(target)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


@pytest.mark.parametrize("durable", [False, True])
def test_the_file_has_the_permissions_of_the_old_one_or_of_any_new_one(tmp_path: Path, durable: bool) -> None:
    target, other = tmp_path / "a", tmp_path / "other"
    other.touch()
    for content, mode in (("one", stat.S_IMODE(other.stat().st_mode)), ("two", 0o640)):
        if target.exists():
            target.chmod(mode)
        with new_file(target, durable=durable) as new:
            assert new.stat().st_size == 0
            new.write_text(content)
        assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == (content, mode)


def test_a_link_that_is_the_target_is_replaced_and_not_followed(tmp_path: Path) -> None:
    elsewhere, target = tmp_path / "elsewhere", tmp_path / "a"
    elsewhere.write_text("mine")
    target.symlink_to(elsewhere)
    with new_file(target) as new:
        assert new.parent == tmp_path
        new.write_text("content")
    assert elsewhere.read_text() == "mine"
    assert not target.is_symlink()


def test_two_names_are_never_the_same_however_long(tmp_path: Path) -> None:
    target = tmp_path / ("ü" * 120)
    with new_file(target) as first, new_file(target) as second:
        assert first != second
        assert len(os.fsencode(first.name)) <= 255
